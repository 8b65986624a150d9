"""Is a hand-written backward the derivative of its forward? Exact tests on a copy, then the same training with autograd's own derivative."""

import contextlib

import torch

from whyloss.errors import CannotReplay
from whyloss.laboratory.experiments.loop import _compare
from whyloss.laboratory.experiments.overfit import first_tape
from whyloss.laboratory.lab import experiment
from whyloss.laboratory.sandbox import Plan
from whyloss.sources.structure import tensors_in

DIRECTIONS = 6
TOLERANCE = 0.05   # of the directional derivatives; finite differences in float64 agree to 1e-6


class _Late:
    """A function's apply, looked up when it is called: so that an experiment's own stands in for it."""

    def __init__(self, cls):
        self.cls, self.__name__ = cls, cls.__name__

    def __call__(self, *args, **kwargs):
        return self.cls.apply(*args, **kwargs)


def _bind_late(lab) -> None:
    for tape in lab.program.tapes.values():
        for node in tape.nodes:
            cls = getattr(node.func, "__self__", None)
            if isinstance(cls, type) and issubclass(cls, torch.autograd.Function):
                node.func = _Late(cls)


@contextlib.contextmanager
def _applied(instead):
    """torch.autograd.Function.apply goes to instead(cls, original, args, kwargs)."""
    owner = torch.autograd.Function
    original = owner.__dict__["apply"]

    def apply(cls, *args, **kwargs):
        return instead(cls, original.__func__, args, kwargs)

    owner.apply = classmethod(apply)
    try:
        yield
    finally:
        owner.apply = original


class _Context:
    """Stands in for ctx while forward runs as ordinary operations."""

    def __init__(self, args):
        self.needs_input_grad = tuple(isinstance(a, torch.Tensor) and a.requires_grad for a in args)
        self.saved_tensors = ()

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors

    def mark_dirty(self, *tensors):
        """Only autograd's own ctx needs to know."""

    mark_non_differentiable = set_materialize_grads = mark_dirty


def _plainly(cls, args, kwargs):
    """forward() as ordinary operations: autograd finds the derivative."""
    apart = any("setup_context" in vars(base) for base in cls.__mro__ if not base.__module__.startswith("torch."))
    return cls.forward(*args, **kwargs) if apart else cls.forward(_Context(args), *args, **kwargs)


def _calls(lab, name: str) -> list[tuple]:
    """(class, arguments, gradient that came in) of the function's first calls in the first captured step."""
    _, tape = first_tape(lab)
    arm = lab.program.fresh()
    found: list[list] = []

    def instead(cls, original, args, kwargs):
        result = original(cls, *args, **kwargs)
        if cls.__name__ == name and len(found) < 4 and isinstance(result, torch.Tensor) and result.requires_grad and not kwargs:
            entry = [cls, tuple(a.detach().clone().requires_grad_(a.requires_grad) if isinstance(a, torch.Tensor) else a for a in args), None]
            result.register_hook(lambda gradient: entry.__setitem__(2, gradient.detach().clone()))
            found.append(entry)
        return result

    torch.manual_seed(0)
    with _applied(instead):
        loss = tape.replay(arm.bindings)
        loss.sum().backward()
    return [tuple(entry) for entry in found if entry[2] is not None]


def _wide(args, gradient, dtype):
    def wide(a):
        return a.detach().to(dtype).requires_grad_(a.requires_grad) if isinstance(a, torch.Tensor) and a.is_floating_point() else a
    return tuple(wide(a) for a in args), gradient.to(dtype)


def examine(cls, args, gradient) -> dict | None:
    """{"what": sentence, "certain": bool} of a backward that is not the derivative of its forward; None if it is, or is meant not to be."""
    for dtype in (torch.float64, gradient.dtype):
        try:
            return _examine(cls, *_wide(args, gradient, dtype), exact=dtype == torch.float64)
        except (RuntimeError, TypeError, ValueError):
            continue
    return None


def _value(cls, args):
    torch.manual_seed(0)
    return cls.apply(*args)


def _examine(cls, args, gradient, exact: bool) -> dict | None:
    wanted = [at for at, a in enumerate(args) if isinstance(a, torch.Tensor) and a.requires_grad]
    output = _value(cls, args)
    given = [a for a in tensors_in(args)]
    if any(a.shape == output.shape and torch.equal(a.detach(), output.detach()) for a in given):
        return None  # hands its input on: reversal, scaling or clipping of the gradient on purpose
    def back(g):
        torch.manual_seed(0)
        return torch.autograd.grad(_value(cls, args), [args[at] for at in wanted], g, allow_unused=True)
    once, twice = back(gradient), back(2 * gradient)
    pairs = [(a, b) for a, b in zip(once, twice) if a is not None and b is not None]
    least = 1e-6 if exact else 1e-3
    bent = any(float((b - 2 * a).norm()) > least * float(b.norm() + 2 * a.norm()) for a, b in pairs)
    alone = output.numel() == 1 and bool((gradient == 1).all())
    slopes, differences, curved = _directions(cls, args, wanted, once, gradient, exact)
    size = max(float(slopes.norm()), float(differences.norm()))
    if size == 0 or float(differences.norm()) < 1e-9 * size:
        return None  # the forward is flat between its jumps: a surrogate gradient
    error = float((slopes - differences).norm()) / size
    if bent and not alone:
        ignores = all(torch.equal(a, b) for a, b in pairs)
        return {"what": "backward(2g) is the same as backward(g): the incoming gradient is not multiplied in" if ignores
                else "backward(2g) is not 2 backward(g)", "certain": True}
    if error > TOLERANCE:
        ratio = float((slopes * differences).sum() / (differences * differences).sum())
        what = f"backward is off by {100 * error:.0f} % from finite differences of forward (factor {ratio:.3g})"
        return {"what": what, "certain": exact and curved}
    return None


def _directions(cls, args, wanted, once, gradient, exact: bool) -> tuple:
    """(slopes by backward, slopes by finite differences, whether most of the output is curved) along random directions."""
    slopes, differences, curved = [], [], 0.0
    relative = 1e-5 if exact else 1e-2
    with torch.no_grad():
        middle = _value(cls, args)
        for _ in range(DIRECTIONS):
            torch.manual_seed(len(slopes) + 1)
            steps = {}
            for at in wanted:
                scale = float(args[at].square().mean().sqrt()) or 1.0
                steps[at] = relative * scale * torch.randn_like(args[at])
            ahead, behind = (_value(cls, tuple(a + sign * steps[at] if at in steps else a for at, a in enumerate(args))) for sign in (1, -1))
            differences.append((((ahead - behind) / 2) * gradient).sum())
            slopes.append(sum((steps[at] * g).sum() for at, g in zip(wanted, once) if g is not None) + gradient.sum() * 0)
            bend = (ahead - 2 * middle + behind).abs() > 1e-13 * middle.abs().clamp_min(1.0)
            curved += float(bend.double().mean()) / DIRECTIONS
    return torch.stack(slopes).double() / relative, torch.stack(differences).double() / relative, curved > 0.3


@experiment("custom-gradient")
def custom_gradient(lab, asks):
    """asks: function. Records `mismatch`, `certain`; where there is a mismatch, trains with autograd's derivative beside it."""
    name = asks.get("function", "")
    _bind_late(lab)
    calls = _calls(lab, name)
    if not calls:
        raise CannotReplay(f"{name} gets no gradient in the captured step")
    found = next((f for f in (examine(*call) for call in calls) if f is not None), None)
    lab.clear("custom-gradient")
    if found is None:
        lab.evidence.add("mismatch", False, run="custom-gradient")
        return {"experiment": "custom-gradient", "change": f"{name} agrees with finite differences", "before": 0.0, "after": 0.0, "steps": 1}

    def instead(cls, original, args, kwargs):
        return _plainly(cls, args, kwargs) if cls.__name__ == name else original(cls, *args, **kwargs)

    plan = Plan(around=lambda: _applied(instead))
    return _compare(lab, "custom-gradient", f"{name}'s derivative left to autograd ({found['what']})", plan, mismatch=True, certain=found["certain"])
