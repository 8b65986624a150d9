"""A model handed over instead of a script: a copy is trained under a watch, the caller's objects stay as they were."""

import contextlib
import copy
import inspect
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy
import torch

from whyloss.errors import BadInput
from whyloss.sources import meters, names, place
from whyloss.sources.batches import as_batches, described, on_device, split
from whyloss.sources.copies import whole
from whyloss.sources.forward import unwrapped
from whyloss.sources.program import Program
from whyloss.sources.watch import Watch

MODEL_NAMES = ("model", "net", "network", "module")
EITHER = "loss_fn(output, target) or loss_fn(model, batch)"
VAL_BATCHES = 64  # evaluated at most in one phase, as many as a watch looks at


@dataclass
class Probed:
    """What a probe leaves: the stopped watch, and the copies that were trained."""

    watch: Watch
    model: torch.nn.Module
    optimizer: torch.optim.Optimizer


# ---------------------------------------------------------------------- the loss
def takes_model(loss_fn: Callable) -> bool:
    """Whether it is loss_fn(model, batch): by the names of its first or second parameter. Raises BadInput."""
    function = loss_fn.forward if isinstance(loss_fn, torch.nn.Module) else loss_fn
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False
    if not parameters:
        raise BadInput(f"loss_fn takes no argument: give {EITHER}")
    annotation = parameters[0].annotation
    typed = isinstance(annotation, type) and issubclass(annotation, torch.nn.Module)
    return typed or parameters[0].name in MODEL_NAMES or len(parameters) > 1 and parameters[1].name == "batch"


def loss_of(model: torch.nn.Module, loss_fn: Callable, batch: Any, whole: bool) -> tuple[torch.Tensor, Any, Any]:
    """(loss, output, target); output and target are None for loss_fn(model, batch), which is what `whole` says."""
    if whole:
        return loss_fn(model, batch), None, None
    args, kwargs, target = split(batch)
    output = model(*args, **kwargs)
    return loss_fn(output, target), output, target


def scalar(loss: Any) -> torch.Tensor:
    """The loss, if it is one number with a gradient to follow. Raises BadInput."""
    if not isinstance(loss, torch.Tensor):
        raise BadInput(f"loss_fn returned a {type(loss).__name__}: a tensor is needed (no .item(), no float())")
    if loss.numel() != 1:
        raise BadInput(f"loss_fn returned a tensor of shape {tuple(loss.shape)}: one number is needed, as its mean")
    return loss


# ---------------------------------------------------------------------- copies
def copies(model, optimizer=None, loss_fn=None, device=None):
    """(model, optimizer, loss_fn, memo of deepcopy) copied together, on `device`. Raises BadInput.

    Tensors of other models that the optimizer holds become copies too, and stay foreign to the model's copy.
    """
    if not isinstance(model, torch.nn.Module):
        raise BadInput(f"model is a {type(model).__name__}, a torch.nn.Module is needed")
    model, _ = unwrapped(model)
    if loss_fn is not None and not callable(loss_fn):
        raise BadInput(f"loss_fn is a {type(loss_fn).__name__}: give {EITHER}")
    holder = Program()
    try:
        holder._own_tensors(model)
        twin = copy.deepcopy(model, holder.memo)
        if isinstance(loss_fn, torch.nn.Module):
            loss_fn = copy.deepcopy(loss_fn, holder.memo)
    except Exception as error:
        raise BadInput(f"{type(model).__name__} cannot be copied: {type(error).__name__}: {error}") from error
    stepper = _optimizer(twin, optimizer, holder.memo)
    if device is not None:
        twin.to(device)
        for state in stepper.state.values():
            state.update({k: v.to(device) for k, v in state.items() if isinstance(v, torch.Tensor) and v.dim()})
    return twin, stepper, loss_fn, holder.memo


def _optimizer(twin, optimizer, memo) -> torch.optim.Optimizer:
    held = list(twin.parameters())
    if optimizer is None:
        if not held:
            raise BadInput(f"{type(twin).__name__} has no parameters: there is nothing to train")
        return torch.optim.Adam([p for p in held if p.requires_grad] or held, lr=1e-3)
    if isinstance(optimizer, torch.optim.Optimizer):
        try:
            with whole():
                return copy.deepcopy(optimizer, memo)
        except Exception as error:
            raise BadInput(f"{type(optimizer).__name__} cannot be copied ({type(error).__name__}: {error}): "
                           "give a function params -> Optimizer") from error
    if not callable(optimizer):
        raise BadInput(f"optimizer is a {type(optimizer).__name__}: give an Optimizer, a function params -> Optimizer, "
                       "or None")
    try:
        made = optimizer(held)
    except (TypeError, ValueError) as error:
        raise BadInput(f"optimizer(params) raised {type(error).__name__}: {error}") from error
    if not isinstance(made, torch.optim.Optimizer):
        raise BadInput(f"optimizer(params) returned a {type(made).__name__}: an Optimizer is needed")
    return made


@contextlib.contextmanager
def as_found(model=None, *loaders):
    """Random states (torch, CUDA, Python, NumPy, loaders), gradient mode and the caller's own .grad, as they were.

    A loss that closes over the caller's model sends gradients there; they are taken back.
    """
    held = list(model.parameters()) if isinstance(model, torch.nn.Module) else []
    grads = [(p, p.grad, None if p.grad is None else p.grad.clone()) for p in held]
    generators = [g for loader in loaders for g in _generators(loader)]
    states = [g.get_state() for g in generators]
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
    torch_state, python_state, numpy_state = torch.get_rng_state(), random.getstate(), numpy.random.get_state()
    try:
        with torch.inference_mode(False), torch.enable_grad():
            yield
    finally:
        torch.set_rng_state(torch_state)
        random.setstate(python_state)
        numpy.random.set_state(numpy_state)
        if cuda is not None:
            torch.cuda.set_rng_state_all(cuda)
        for generator, state in zip(generators, states):
            generator.set_state(state)
        for parameter, grad, value in grads:
            parameter.grad = grad
            if grad is not None:
                with torch.no_grad():
                    grad.copy_(value)


def _generators(loader) -> list[torch.Generator]:
    sampler = getattr(getattr(loader, "batch_sampler", None), "sampler", None)
    holders = [loader, getattr(loader, "sampler", None), sampler]
    found = {id(g): g for g in (getattr(h, "generator", None) for h in holders) if isinstance(g, torch.Generator)}
    return list(found.values())


# ---------------------------------------------------------------------- training
def train_watched(model, loss_fn, train, val=None, optimizer=None, *, steps: int = 200, batch_size: int = 64,
                  seed: int = 0, device=None) -> Probed:
    """Train a copy for up to `steps` steps under a watch; Ctrl-C ends the training, not the caller. Raises BadInput."""
    for name, value in (("steps", steps), ("batch_size", batch_size)):
        if not isinstance(value, int) or value < 1:
            raise BadInput(f"{name} is {value!r}: a whole number of at least 1 is needed")
    with as_found(model, train, val), _others_asleep():
        torch.manual_seed(seed)
        random.seed(seed)
        numpy.random.seed(seed)
        batches = as_batches(train, batch_size, steps=steps, seed=seed)
        checked = None
        if val is not None:
            checked = as_batches(val, batch_size, steps=VAL_BATCHES, shuffle=False, what="val")
        twin, stepper, objective, memo = copies(model, optimizer, loss_fn, device)
        if not any(p.requires_grad for p in twin.parameters()):
            raise BadInput("no parameter of model wants a gradient: switch some on, model.requires_grad_(True)")
        if not twin.training:
            twin.train()  # handed over after an evaluation; single parts in eval mode of a training model stay so
        watch = Watch().start()
        try:
            watch.optimizer_made(stepper, place.here(2))
            _name_foreign(watch, twin, optimizer, memo)
            _Loop(watch, twin, stepper, objective, model).run(batches, checked, steps)
        finally:
            watch.stop()
    return Probed(watch, twin, stepper)


@contextlib.contextmanager
def _others_asleep():
    """Under `whyloss run`, the script's own watch does not hear of our copy's training."""
    from whyloss.sources import attach

    outer = attach._state.get("watch")
    if outer is None or not outer.awake:
        yield
        return
    outer.awake = False
    try:
        with outer.quiet():
            yield
    finally:
        outer.awake = True


def _name_foreign(watch, twin, optimizer, memo) -> None:
    """Names of the tensors in the optimizer that are not the model's, as the caller would write them."""
    if not isinstance(optimizer, torch.optim.Optimizer):
        return
    live = {id(p) for p in twin.parameters()}
    foreign = {id(p): p for group in optimizer.param_groups for p in group["params"] if id(memo.get(id(p))) not in live}
    if not foreign:
        return
    owners = names.owners()
    variables = names.variable_names({**{id(m): m for m in owners}, **foreign})
    for owner in owners:
        for name, parameter in owner.named_parameters():
            if id(parameter) in foreign:
                prefix = variables.get(id(owner), type(owner).__name__.lower())
                watch.program.names[id(memo[id(parameter)])] = f"{prefix}(another).{name}"
    for key in foreign:
        if key in variables:
            watch.program.names.setdefault(id(memo[key]), variables[key])


class _Loop:
    """The plainest training loop there is: forward, clear, backward, step; evaluated about once an epoch."""

    def __init__(self, watch, model, optimizer, loss_fn, original):
        self.watch, self.model, self.optimizer, self.loss_fn, self.original = watch, model, optimizer, loss_fn, original
        self.whole = takes_model(loss_fn)
        self.device = next((p.device for p in model.parameters()), torch.device("cpu"))
        self.closure = type(optimizer).__name__ == "LBFGS"
        self.done = 0

    def run(self, batches, checked, steps: int) -> None:
        evaluated = 0
        try:
            while self.done < steps:
                before = self.done
                for batch in itertools.islice(batches, steps - self.done):
                    self._step(on_device(batch, self.device))
                    self.done += 1
                    if checked is not None and self.done - evaluated >= max(1, steps // 4) and self.done < steps:
                        evaluated = self._evaluate(checked)
                if self.done == before:
                    raise BadInput("train gave no batch")
                if checked is not None and (self.done - evaluated >= max(1, steps // 20) or self.done >= steps):
                    evaluated = self._evaluate(checked)
        except KeyboardInterrupt as error:
            self._ended_by(error)
        except BadInput:
            raise
        except Exception as error:
            if not self.watch.window_count and not self.watch.program.tapes:
                raise  # nothing was trained: the caller's traceback says it best
            self._ended_by(error)

    def _step(self, batch) -> None:
        if self.closure:
            self.optimizer.step(lambda: self._backward(batch))
            return
        self._backward(batch)
        self.optimizer.step()

    def _backward(self, batch) -> torch.Tensor:
        try:
            loss = scalar(loss_of(self.model, self.loss_fn, batch, self.whole)[0])
        except BadInput:
            raise
        except Exception as error:
            if self.done:
                raise
            said = "loss_fn(model, batch)" if self.whole else "loss_fn(model(input), target)"
            raise BadInput(f"{said} raised {type(error).__name__} on the first batch, {described(batch)}: "
                           f"{error}") from error
        self.optimizer.zero_grad()
        loss.backward()
        if not self.done and self._went_elsewhere():
            raise BadInput("loss_fn computes with the model it closes over: it must use the model (or the output) that "
                           "it is handed, a copy")
        return loss

    def _went_elsewhere(self) -> bool:
        """All gradients landed in the caller's own model."""
        original, _ = unwrapped(self.original)
        return all(p.grad is None for p in self.model.parameters()) and bool(
            self.watch.ever_reached & {id(p) for p in original.parameters()})

    def _evaluate(self, checked) -> int:
        modes = [(part, part.training) for part in self.model.modules()]
        self.model.eval()
        with torch.no_grad():
            for batch in itertools.islice(checked, VAL_BATCHES):
                _compare(*loss_of(self.model, self.loss_fn, on_device(batch, self.device), self.whole)[1:])
        for part, mode in modes:
            part.training = mode
        return self.done

    def _ended_by(self, error: BaseException) -> None:
        trace, where = error.__traceback__, None
        while trace is not None:
            if place.is_user_file(trace.tb_frame.f_code.co_filename):
                where = f"{place.shown(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
            trace = trace.tb_next
        self.watch.observe("raised", {"type": type(error).__name__, "message": str(error)[:300], "place": where})


def _compare(output: Any, target: Any) -> None:
    """Guess the classes where there are any; the watch hears the comparison, which is the accuracy."""
    tensors = isinstance(target, torch.Tensor) and isinstance(output, torch.Tensor)
    if tensors and not target.is_floating_point() and output.dim() > 1 and output.shape[1] > 1:
        guess = output.argmax(1)
        if guess.shape == target.shape:
            torch.eq(guess, target)


# ---------------------------------------------------------------------- what one step did
def changes(before: torch.nn.Module, after: torch.nn.Module) -> dict[str, dict]:
    """By parameter: state and norm of .grad, weight norm, and |after - before| / |before| (None where it was zero)."""
    before, _ = unwrapped(before)
    rows = {}
    for (name, old), (_, now) in zip(before.named_parameters(), after.named_parameters()):
        was, size = old.detach().float().to(now.device), meters.norm(old)
        moved = meters.norm(now.detach().float() - was)
        norm = None if now.grad is None else meters.norm(now.grad)
        rows[name] = {"grad": meters.grad_state(now.grad), "grad_norm": norm, "weight_norm": size,
                      "update_ratio": moved / size if size > 0 else None}
    return rows
