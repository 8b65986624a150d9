"""Inserts a peer's documented calls into a training script that is run unchanged.

170 scripts cannot be edited by hand, so the calls are made from outside, at the places where a user would write them:
`start` before the first training forward (model and optimizer exist), `step` at the end of each iteration, `check` at the
first loss, before its backward. This is done by wrapping Module.__call__, Tensor.backward, Optimizer.step and the loss
functions in this process. The "edited lines" of a peer are those of the documented insertion, not of this file.
"""

import csv
import gc
import math
import time

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten, tree_map

LOSSES = ["cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy",
          "binary_cross_entropy_with_logits", "kl_div", "cosine_embedding_loss", "triplet_margin_loss", "ctc_loss"]


class Tape(TorchFunctionMode):
    """What the script computes between the model's output and backward: the loss function of the user, to be replayed."""

    def __init__(self, output):
        super().__init__()
        self.output, self.ops = output, []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        self.ops.append((func, args, kwargs or {}, result))
        return result

    def target(self):
        """The tensor of labels: the last argument with the batch's length that does not come from the output."""
        made, found = {id(leaf) for leaf in tree_flatten(self.output)[0]}, None
        rows = {leaf.shape[0] for leaf in tree_flatten(self.output)[0] if isinstance(leaf, torch.Tensor) and leaf.dim()}
        for _, args, kwargs, result in self.ops:
            leaves = [leaf for leaf in tree_flatten((args, kwargs))[0] if isinstance(leaf, torch.Tensor)]
            if any(id(leaf) in made for leaf in leaves):
                made.update(id(leaf) for leaf in tree_flatten(result)[0])
                for leaf in leaves:
                    if id(leaf) not in made and not leaf.requires_grad and leaf.dim() and leaf.shape[0] in rows:
                        found = leaf
        return found

    def loss_function(self, loss, target):
        """loss_fn(output, target) of the script, or None where the loss does not come from the output through torch."""
        made = {id(leaf) for leaf in tree_flatten(self.output)[0]}
        chain = []
        for op in self.ops:
            if any(id(leaf) in made for leaf in tree_flatten((op[1], op[2]))[0]):
                chain.append(op)
                made.update(id(leaf) for leaf in tree_flatten(op[3])[0] if isinstance(leaf, torch.Tensor))
        if id(loss) not in made:
            return None

        def loss_fn(output, labels=None):
            new = dict(zip(map(id, tree_flatten(self.output)[0]), tree_flatten(output)[0]))
            if target is not None:
                new[id(target)] = labels
            for func, args, kwargs, result in chain:
                args, kwargs = tree_map(lambda leaf: new.get(id(leaf), leaf), (args, kwargs))
                again = func(*args, **kwargs)
                new.update(zip(map(id, tree_flatten(result)[0]), tree_flatten(again)[0]))
            return new[id(loss)]
        return loss_fn


class Driver:
    """Watches one run for one adapter (a module of this folder) and calls it."""

    def __init__(self, adapter, folder, limit):
        self.adapter, self.folder, self.deadline = adapter, folder, time.monotonic() + limit
        self.model = self.optimizer = self.state = self.loss = self.tape = self.batch = self.findings = self.criterion = self.target = None
        self.started = self.checked = self.busy = self.open = False
        self.iteration = self.depth = 0
        self.rows, self.evaluated, self.spent, self.crashed = [], [], 0.0, ""

    def ours(self, function, *args):
        """A call of the peer, during which nothing is watched."""
        if self.crashed:
            return None
        self.busy, began = True, time.monotonic()
        try:
            return function(*args)
        except Exception as error:
            self.crashed = f"{type(error).__name__}: {error}"[:300]
        finally:
            self.busy, self.spent = False, self.spent + time.monotonic() - began

    def install(self):
        module, tensor, optimizer, driver = torch.nn.Module, torch.Tensor, torch.optim.Optimizer, self
        call, backward, init = module.__call__, tensor.backward, optimizer.__init__

        def watched_call(self, *args, **kwargs):
            if driver.busy or driver.depth or not torch.is_grad_enabled() or next(self.parameters(), None) is None:
                return call(self, *args, **kwargs)
            driver.forward(self)
            driver.depth += 1
            try:
                output = call(self, *args, **kwargs)
            finally:
                driver.depth -= 1
            driver.after(self, args, kwargs, output)
            return output

        def watched_backward(self, *args, **kwargs):
            if driver.busy:
                return backward(self, *args, **kwargs)
            driver.before_backward(self)
            backward(self, *args, **kwargs)
            driver.after_backward()

        def watched_init(self, *args, **kwargs):
            init(self, *args, **kwargs)
            driver.optimizer = driver.optimizer if driver.started else self
            if driver.adapter.MODE != "once":
                self.register_step_post_hook(lambda *_: None if driver.busy else driver.end())
            else:
                self.register_step_pre_hook(lambda *_: None if driver.busy else driver.check(None))

        module.__call__, tensor.backward, optimizer.__init__ = watched_call, watched_backward, watched_init
        for name in LOSSES:
            self.wrap_loss(name)

    def wrap_loss(self, name):
        function = getattr(torch.nn.functional, name)

        def watched(*args, **kwargs):
            result = function(*args, **kwargs)
            if not self.busy and result.dim() == 0:
                if torch.is_grad_enabled():
                    self.criterion, self.target = (function, kwargs), args[1]
                elif self.iteration:
                    self.evaluated.append(float(result))
            return result
        setattr(torch.nn.functional, name, watched)

    def whole(self, called):
        """The module a user would call "the model": the one called, or the largest that holds it."""
        holders = [m for m in gc.get_objects() if isinstance(m, torch.nn.Module) and any(c is called for c in m.modules())]
        return max(holders, key=lambda m: sum(p.numel() for p in m.parameters()), default=called)

    def forward(self, called):
        if self.open:
            self.end()
        if self.started or self.optimizer is None:
            return
        held = {id(p) for group in self.optimizer.param_groups for p in group["params"]}
        if any(id(p) in held for p in called.parameters()):
            self.begin(called)

    def begin(self, called):
        self.started, self.model = True, self.whole(called)
        if hasattr(self.adapter, "start"):
            self.state = self.ours(self.adapter.start, self)

    def after(self, called, args, kwargs, output):
        if self.batch is None or self.adapter.MODE != "once":
            self.batch = (called, args, kwargs, output)
        if self.adapter.MODE == "once" and self.tape is None and self.optimizer is not None:
            self.batch, self.tape = (called, args, kwargs, output), Tape(output)
            self.tape.__enter__()

    def close_tape(self):
        if self.tape is not None and self.adapter.MODE == "once" and not self.checked:
            self.tape.__exit__(None, None, None)

    def before_backward(self, loss):
        if self.adapter.MODE == "once":
            self.check(loss)
        if self.open:
            self.end()
        if not self.started and self.batch is not None and self.optimizer is not None:
            self.begin(self.batch[0])
        self.loss = loss

    def check(self, loss):
        """The one-shot peers: model, batch, loss function and optimizer at the first step; then the run is over."""
        self.close_tape()
        if not self.checked and self.batch is not None:
            self.checked = True
            target = self.tape.target() if self.tape else None
            function = self.tape.loss_function(loss, target) if self.tape and loss is not None else None
            called, args, kwargs, _ = self.batch
            self.findings = self.ours(self.adapter.check, called, args, kwargs, target, function, self.optimizer)
        raise SystemExit(0)

    def after_backward(self):
        """Between backward and step: where gradients are looked at."""
        self.open = True
        self.norm()
        if hasattr(self.adapter, "after_backward") and self.started:
            self.ours(self.adapter.after_backward, self.state, self)

    def norm(self):
        self.grad_norm = None
        if self.adapter.MODE == "log" and self.optimizer is not None:
            grads = [p.grad.detach().float().norm() for g in self.optimizer.param_groups for p in g["params"] if p.grad is not None]
            self.grad_norm = float(torch.stack(grads).norm()) if grads else 0.0

    def end(self):
        """The end of an iteration: the line that a user adds at the bottom of the loop."""
        if not self.open:
            return
        self.open = False
        self.value = float(self.loss.detach()) if self.loss.numel() == 1 else math.nan
        rate = self.optimizer.param_groups[0]["lr"] if self.optimizer else None
        row = {"step": self.iteration, "loss": self.value, "lr": rate, "grad_norm": self.grad_norm}
        if self.evaluated:
            self.rows[-1]["eval_loss"], self.evaluated = sum(self.evaluated) / len(self.evaluated), []
        self.rows.append(row)
        if hasattr(self.adapter, "step") and self.started:
            self.ours(self.adapter.step, self.state, self)
        self.iteration += 1
        if time.monotonic() > self.deadline:
            raise SystemExit(0)

    def finish(self):
        """-> the peer's findings: [{"key", "message", "level"}], level "info", "warning" or "error"."""
        if self.open:
            self.open = False
        self.busy = True
        if self.adapter.MODE == "once":
            self.close_tape()
            return self.findings
        if self.adapter.MODE == "log":
            return self.write()
        return self.ours(self.adapter.finish, self.state) if self.started else None

    def write(self):
        """The log a training script writes: step, loss, lr, grad_norm, eval_loss."""
        if self.evaluated and self.rows:
            self.rows[-1]["eval_loss"] = sum(self.evaluated) / len(self.evaluated)
        names = ["step", "loss", "lr", "grad_norm"] + (["eval_loss"] if any("eval_loss" in row for row in self.rows) else [])
        with open(f"{self.folder}/metrics.csv", "w", newline="") as file:
            out = csv.DictWriter(file, names, restval="")
            out.writeheader()
            out.writerows(self.rows)
        return None if not self.rows else []

