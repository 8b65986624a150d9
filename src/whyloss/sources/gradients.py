"""Gradients and updates of one watched training: who is reached, what .grad holds, what the step used, what truly moved."""

import math
import weakref

import torch

from whyloss.sources import facts, meters, nonfinite
from whyloss.sources.leftovers import Leftovers
from whyloss.sources.shards import local, readable

WALK_LIMIT = 200_000  # graph nodes
POINTS = 48  # tensors followed that are neither parameters nor held by an optimizer: a step may make new ones each time
COMPARED, CALLS = 256, 20_000   # calls of autograd.grad from one line whose tensors, and whose losses, are looked at
SLOPES = 8  # first steps whose direction is compared with the gradient
HALF = (torch.float16, torch.bfloat16)


class Gradients:
    """Part of a Watch: everything about .grad, steps and weight changes."""

    def __init__(self, watch):
        self.watch = watch
        self.leftovers = Leftovers(watch)
        self.parameters: dict[int, torch.Tensor] = {}   # every trainable tensor seen
        self.reached: list[torch.Tensor] = []
        self.last_reached: dict[int, int] = {}   # window of the last backward that reached it
        self.fresh: set[int] = set()        # written by a backward since the last step that held them
        self.consumed: dict[int, torch.Tensor] = {}  # .grad objects a step has used
        self.tainted: set[int] = set()      # old, used gradient was still there when a backward added to it
        self.discarded: dict[int, str | None] = {}   # unused gradient was cleared: where
        self.waiting: dict[int, int] = {}   # backward passes whose gradient waits in .grad for a step
        self.lost: dict[int, int] = {}      # and those whose gradient was cleared, unread, since the last step
        self.lost_at: str | None = None
        self.just_lost: dict[int, int] = {}   # those of them that were cleared since the last backward
        self.looked_at = False              # somebody outside the optimizers read a .grad since the last backward
        self.snapshot: dict[int, torch.Tensor] = {}
        self.moved: set[int] = set()        # whose values were seen to change
        self.slopes: dict[int, torch.Tensor] = {}    # the gradients at the snapshot, in the first steps
        self.snapshot_window = 0
        self.points = 0
        self.moving: dict[int, torch.Tensor] = {}   # half-precision entries whose gradient was not 0
        self.clipped = self.unscaled = False
        self.scaler = None
        self.norm_after_backward = 0.0
        self.graph_sizes: list[int] = []
        self.held: list = []                # loss graphs still alive
        self.backward_clock = -1
        self.readers: dict[str, int] = {}            # lines outside optimizers that read .grad
        self.writers: dict[str, int] = {}            # and those that add to the values of a parameter in place
        self.functional_leaves: dict[int, torch.Tensor] = {}   # what it is asked about
        self.functional: dict[str, list] = {}        # autograd.grad: place -> the tensors of the last call, by value

    # ------------------------------------------------------------------ backward
    def before_backward(self, loss, where) -> list[torch.Tensor]:
        """-> the leaf tensors this backward will reach."""
        watch = self.watch
        window = watch.recorder.window
        traced = window is None or window.traced or watch.window_count < 8
        if traced or not self.reached:
            leaves, size = leaves_of(loss)
            self.reached = [p for p in map(watch.shards.parameter, leaves) if readable(p)]
            if traced:
                watch.observe("graph_size", size, where or "backward")
        for leaf in self.reached:
            self.follow(leaf)
        watch.ever_reached.update(id(leaf) for leaf in self.reached)
        self.last_reached.update(dict.fromkeys(map(id, self.reached), watch.window_count))
        self._measure_updates()
        self._taint()
        self.leftovers.before_backward(self.reached)
        self._live_graphs(loss)
        return self.reached

    def follow(self, leaf: torch.Tensor) -> None:
        """Keep a trainable tensor in view. Points to differentiate at are made anew in every step: only the first are kept."""
        if leaf.is_meta:  # a framework looks at shapes first, with a model that never has values
            return
        if id(leaf) not in self.parameters:
            if not isinstance(leaf, torch.nn.Parameter):
                if self.points >= POINTS and self.watch.window_count > 1:
                    return
                self.points += 1
            self.parameters[id(leaf)] = leaf

    def _taint(self) -> None:
        """A gradient that a step has used and that is still there, not zero, when a backward adds to it."""
        for leaf in self.reached:
            key = id(leaf)
            grad = leaf.grad
            if grad is None:
                self.tainted.discard(key)
            elif self.consumed.get(key) is grad:
                if meters.norm(grad) > 0:
                    self.tainted.add(key)
                else:  # cleared by hand: what a backward writes now is new
                    self.tainted.discard(key)
                    del self.consumed[key]

    def _live_graphs(self, loss) -> None:
        """Counts loss graphs that something still holds: their C++ nodes die with the last reference."""
        if loss.grad_fn is None:
            return
        marker = _Marker()
        loss.grad_fn.metadata["whyloss"] = marker
        self.held.append(weakref.ref(marker))
        if len(self.held) > 512:
            self.held = [ref for ref in self.held if ref() is not None][-512:]
        if self.watch.window_count and (self.watch.window_count < 64 or self.watch.window_count % 32 == 0):
            self.watch.observe("live_graphs", sum(1 for ref in self.held if ref() is not None))

    def after_backward(self, window, where) -> None:
        watch = self.watch
        for leaf in self.reached:
            self.fresh.add(id(leaf))
        self.leftovers.after_backward(self.reached, watch.window_count)
        self.clipped = self.unscaled = False
        self.discarded = {key: at for key, at in self.discarded.items() if key not in self.fresh}
        self.norm_after_backward = self._total(self.reached)
        self._wait()
        scale = self.scale_now()
        watch.observe("grad_norm_total", self.norm_after_backward / scale, where or "backward")
        if not math.isfinite(self.norm_after_backward) and scale == 1.0 and watch.first_non_finite is None:
            watch.first_non_finite = nonfinite.found_in_backward(watch, watch.last_tape, self.reached, where)
        if window is not None and window.traced:
            self._states()
            self.snapshot = {key: local(p.detach()).clone() for key, p in self.parameters.items() if p.numel()}
            self.moving = {key: p.grad != 0 for key, p in self.parameters.items()
                           if p.dtype in HALF and isinstance(p.grad, torch.Tensor) and not p.grad.is_sparse and p.grad.shape == p.shape}
            self.slopes = {key: self.parameters[key].grad.detach().clone() for key in self.snapshot if watch.window_count < SLOPES and
                           _dense(self.parameters[key])}
            self.snapshot_window = watch.window_count
            self.backward_clock = watch.clock

    def _wait(self) -> None:
        """Notes whose gradient a step should use now: not one that is not finite, nor that of a backward to an input (an attack, say)."""
        self.looked_at, self.just_lost = False, {}
        if 0 < self.norm_after_backward < math.inf and all(isinstance(leaf, torch.nn.Parameter) for leaf in self.reached):
            for leaf in self.reached:
                self.waiting[id(leaf)] = self.waiting.get(id(leaf), 0) + 1

    def _total(self, leaves) -> float:
        grads = [leaf.grad.coalesce().values() if leaf.grad.is_sparse else local(leaf.grad) for leaf in leaves if leaf.grad is not None]
        if not grads:
            return 0.0
        total = float(torch.linalg.vector_norm(torch.stack([n.float() for n in torch._foreach_norm(grads)])))
        return total if total else math.sqrt(sum(meters.norm(g) ** 2 for g in grads))

    def _states(self) -> None:
        watch, scale = self.watch, self.scale_now()
        for parameter in list(self.parameters.values()):
            name = watch.name(parameter)
            watch.observe("grad_state", meters.grad_state(parameter.grad) if parameter.requires_grad else "none", name)
            if parameter.grad is not None:
                watch.observe("grad_norm", meters.norm(parameter.grad) / scale, name)
            watch.observe("weight_norm", meters.norm(parameter), name)

    def _measure_updates(self) -> None:
        """The true change of every parameter since the last traced backward, whoever made it."""
        if not self.snapshot:
            return
        watch = self.watch
        steps = max(1, watch.window_count - self.snapshot_window)
        with torch.no_grad():
            if steps == 1 and self.slopes:
                self._direction()
            for key, before in self.snapshot.items():
                now = local(self.parameters[key].detach())
                if now.shape != before.shape or steps != 1:
                    continue
                change, size = meters.norm(now - before if now.is_complex() else now.float() - before.float()), meters.norm(before)
                name = watch.name(self.parameters[key])
                watch.observe("update_norm", change, name, self.backward_clock)
                if change > 0:
                    self.moved.add(key)
                wanted = self.moving.get(key)
                if wanted is not None and bool(wanted.any()):
                    watch.observe("unchanged_share", float((now == before)[wanted].float().mean()), name, self.backward_clock)
                if size > 0:
                    watch.observe("update_ratio", change / size, name, self.backward_clock)
        self.snapshot = {}

    def _direction(self) -> None:
        """The cosine between all that a step changed and the gradient it was given: below 0 downhill, above 0 uphill."""
        along = moved = steep = 0.0
        for key, slope in self.slopes.items():
            change = (self.parameters[key].detach() - self.snapshot[key]).double() if self.parameters[key].shape == slope.shape else None
            if change is not None and bool((change != 0).any()):
                slope = slope.double()
                along, moved, steep = along + float((change * slope).sum()), moved + float((change**2).sum()), steep + float((slope**2).sum())
        if moved * steep > 0 and math.isfinite(along) and math.isfinite(moved * steep):
            self.watch.observe("update_direction", along / math.sqrt(moved * steep), "run", self.backward_clock)
        self.slopes = {}

    def read(self, where) -> None:
        self.looked_at = True
        for key, count in self.just_lost.items():  # what was asked for is the gradient of something else, an input say
            self.lost[key] -= count
        self.just_lost = {}
        if where is not None:
            self.readers[where] = self.readers.get(where, 0) + 1

    def wrote(self, where) -> None:
        self.writers[where or "?"] = self.writers.get(where or "?", 0) + 1

    def functional_grad(self, loss, wanted, where, gradients=None) -> None:
        """A loss differentiated by a function: its value, whether the tensors moved since the last call from there, and the gradients."""
        watch = self.watch
        calls = watch.counts[("autograd.grad", where)]
        if loss.numel() != 1 or not wanted or calls > CALLS:
            return
        moved, names = None, []
        if calls <= COMPARED:
            before, now = self.functional.get(where), [t.detach().clone() for t in wanted]
            self.functional[where] = now
            moved = None if before is None else len(before) != len(now) or any(
                a.shape != b.shape or not torch.equal(a, b) for a, b in zip(before, now))
        if calls == 1:
            if not watch.window_count and not watch.optimizers:  # what a loop without backward() begins from
                for leaf in wanted:
                    watch.program.know_leaf(leaf)
                    self.functional_leaves.setdefault(id(leaf), leaf)
            names = [watch.name(t) for t in wanted[:4]]
        if calls <= POINTS and gradients is not None:
            for leaf, gradient in zip(wanted, gradients):
                if id(leaf) in self.functional_leaves:
                    watch.observe("grad_state", meters.grad_state(gradient), watch.name(leaf), calls - 1)
        watch.observe("functional_grad", {"loss": float(loss.detach()), "moved": moved, "names": names}, where or "autograd.grad", calls - 1)

    # ------------------------------------------------------------------ steps and clears
    def before_step(self, optimizer, where, closure) -> list[torch.Tensor]:
        """-> the tensors that the optimizer holds."""
        watch = self.watch
        held = [p for group in optimizer.param_groups for p in group["params"]]
        for parameter in held:
            self.parameters.setdefault(id(parameter), parameter)
        if closure:
            return held
        grads = [p for p in held if p.grad is not None]
        row = {
            "place": where, "held": len(held), "with_gradient": len(grads),
            "norm": self._total(held), "after_backward": self._total_at_backward(held),
            "fresh": sum(id(p) in self.fresh for p in held),
            "tainted": sum(id(p) in self.tainted for p in held),
            "cleared_unused": next((self.discarded[id(p)] for p in held if id(p) in self.discarded), None),
            "discarded": sum(id(p) in self.discarded for p in held),
            "clipped": self.clipped, "unscaled": self.unscaled, "scale": self.scale_now(),
        }
        row.update(self._thrown_away(grads))
        self.leftovers.before_step(optimizer, held, row)
        watch.observe("step", row, facts.optimizer_name(watch, optimizer))
        return held

    def _thrown_away(self, held) -> dict:
        """Of most of the tensors with a gradient: backward passes cleared since the last step, and those that this step uses."""
        both = [(self.lost[id(p)], self.waiting.get(id(p), 0)) for p in held if self.lost.get(id(p))]
        if 2 * len(both) <= len(held):
            return {"lost": 0}
        return {"lost": min(lost for lost, _ in both), "used": max(used for _, used in both), "lost_at": self.lost_at}

    def _total_at_backward(self, held) -> float:
        reached = {id(p) for p in self.reached}
        return self.norm_after_backward if any(id(p) in reached for p in held) else 0.0

    def after_step(self, optimizer, where) -> None:
        watch = self.watch
        bad = None
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                key = id(parameter)
                self.fresh.discard(key)
                self.discarded.pop(key, None)
                self.waiting.pop(key, None)
                self.lost.pop(key, None)
                self.just_lost.pop(key, None)
                if parameter.grad is not None:
                    self.consumed[key] = parameter.grad
        if watch.first_non_finite is None:
            held = [p for group in optimizer.param_groups for p in group["params"]]
            bad = next((p for p in held if not math.isfinite(abs(local(p.detach()).sum().item()))  # of a complex one, both parts
                        and not bool(torch.isfinite(local(p.detach())).all())), None)
            if bad is not None:
                watch.first_non_finite = nonfinite.found_in_update(watch, optimizer, bad, where)

    def cleared(self, parameters, where) -> None:
        self.leftovers.cleared(parameters)
        for parameter in parameters:
            key = id(parameter)
            self.tainted.discard(key)
            self.consumed.pop(key, None)
            if key in self.fresh:
                self.fresh.discard(key)
                self.discarded[key] = where
            waiting = self.waiting.pop(key, 0)
            if waiting and not self.looked_at:
                self.lost[key], self.lost_at = self.lost.get(key, 0) + waiting, where
                self.just_lost[key] = waiting

    def scale_now(self) -> float:
        """Factor the gradients still carry from a GradScaler."""
        if self.scaler is None or self.unscaled or not self.scaler.is_enabled():
            return 1.0
        return float(self.scaler.get_scale()) or 1.0


def _dense(parameter) -> bool:
    """Whether a plain tensor holds its gradient."""
    grad = parameter.grad
    return type(local(parameter)) in (torch.Tensor, torch.nn.Parameter) and isinstance(grad, torch.Tensor) and not grad.is_sparse and \
        grad.layout == torch.strided and grad.shape == parameter.shape and grad.is_floating_point() and local(parameter) is parameter


class _Marker:
    """Dies with the autograd node that holds it."""


def leaves_of(loss: torch.Tensor) -> tuple[list[torch.Tensor], int]:
    """(leaf tensors that backward() from `loss` reaches, number of graph nodes). Exact: a walk of the graph."""
    if loss.grad_fn is None:
        return ([loss] if loss.requires_grad else []), 0
    seen, stack, leaves = {loss.grad_fn}, [loss.grad_fn], []
    while stack and len(seen) < WALK_LIMIT:
        node = stack.pop()
        variable = getattr(node, "variable", None)
        if variable is not None:
            leaves.append(variable)
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                stack.append(following)
    return leaves, len(seen)
