"""Replays of the step that made the first non-finite value: find the operation, guard it, try again."""

import contextlib
import copy
import math

import torch

from whyloss.errors import CannotReplay
from whyloss.laboratory.interventions import Replace
from whyloss.laboratory.lab import experiment
from whyloss.sources.nonfinite import find
from whyloss.sources.tape import Bindings

EPS = 1e-6


def _failing(lab):
    if lab.program.failing is None:
        raise CannotReplay("no step with a non-finite value was captured")
    tape, modules, leaves = lab.program.failing
    modules, leaves = copy.deepcopy((modules, leaves), {})
    return tape, Bindings(modules, leaves)


@experiment("first-non-finite")
def first_non_finite(lab, asks):
    fact = lab.evidence.fact("first_non_finite")
    tape, bindings = _failing(lab)
    torch.set_rng_state(tape.rng)
    found = find(tape, bindings, backward=fact["phase"] == "backward")
    return {"experiment": "first-non-finite", "change": "the step replayed operation by operation", "before": math.nan, "after": math.nan,
            "steps": 1, "rows": [{"label": k, "value": str(v)} for k, v in found.items() if v not in (None, [], "")], **found}


def _safe(name: str, func, args, kwargs):
    tensor = args[0]
    if name in ("log", "log2", "log10", "xlogy", "log_"):
        return func(tensor.clamp_min(1e-12), *args[1:], **kwargs)
    if name in ("sqrt", "rsqrt", "sqrt_"):
        return func(tensor.clamp_min(0) + 1e-12, *args[1:], **kwargs)
    if name in ("exp", "expm1", "exp_", "exp2"):
        return func(tensor.clamp(max=80), *args[1:], **kwargs)
    if name in ("norm", "vector_norm", "linalg_vector_norm"):
        dim = kwargs.get("dim", args[2] if len(args) > 2 else None)
        keep = kwargs.get("keepdim", False)
        square = (tensor * tensor).sum(dim, keepdim=keep) if dim is not None else (tensor * tensor).sum()
        return (square + 1e-12).sqrt()
    if name in ("cdist", "pairwise_distance", "dist"):
        return func(tensor + EPS, *args[1:], **kwargs)
    if name in ("acos", "asin"):
        return func(tensor.clamp(-1 + EPS, 1 - EPS))
    if name in ("pow", "__pow__", "float_power"):
        power = args[1]
        fails_below = isinstance(power, float) and power != int(power) or isinstance(power, (int, float)) and power < 0
        return func(tensor.clamp_min(EPS), power) if fails_below else func(*args, **kwargs)
    if name in ("div", "__truediv__", "true_divide", "divide", "reciprocal", "__rtruediv__"):
        return _safe_division(name, func, args, kwargs)
    return func(*args, **kwargs)


def _safe_division(name, func, args, kwargs):
    if name == "reciprocal":
        return 1.0 / torch.where(args[0] == 0, torch.full_like(args[0], EPS), args[0])
    if name == "__rtruediv__":
        return func(torch.where(args[0] == 0, torch.full_like(args[0], EPS), args[0]), *args[1:], **kwargs)
    below = args[1]
    if isinstance(below, torch.Tensor):
        below = torch.where(below == 0, torch.full_like(below, EPS), below)
    return func(args[0], below, *args[2:], **kwargs)


_GUARDED = {"log", "log2", "log10", "xlogy", "sqrt", "rsqrt", "exp", "expm1", "norm", "vector_norm", "linalg_vector_norm", "cdist",
            "pairwise_distance", "div", "__truediv__", "true_divide", "divide", "reciprocal", "__rtruediv__", "pow", "__pow__", "acos", "asin"}


@experiment("guard-operation")
def guard_operation(lab, asks):
    """The unsafe operation gets an epsilon or a clamp; the same failing step must then be finite, forward and backward."""
    tape, bindings = _failing(lab)
    where = asks.get("place")

    def instead(func, args, kwargs):
        name = getattr(func, "__name__", "")
        return _safe(name.rstrip("_") if not name.startswith("__") else name, func, args, kwargs)

    state = {"finite": False}
    clean = (lambda key, tensor: torch.nan_to_num(tensor, nan=0.0, posinf=0.0, neginf=0.0) if tensor.is_floating_point() else tensor) \
        if asks.get("clean_inputs") else None
    bindings.change_constant = clean
    torch.set_rng_state(tape.rng)
    with contextlib.ExitStack() as stack:
        if not asks.get("clean_inputs"):
            stack.enter_context(Replace(_GUARDED, instead))
        loss = tape.replay(bindings)
        loss.sum().backward()
    value = float(loss.detach().sum()) / tape.scale
    grads = [leaf.grad for leaf in bindings.leaves.values() if leaf.grad is not None]
    state["finite"] = math.isfinite(value) and all(bool(torch.isfinite(g).all()) for g in grads)
    lab.clear("guard-operation")
    for arm, number in (("control", math.nan), ("changed", value if state["finite"] else math.nan)):
        for step in range(5):
            lab.evidence.add("loss", number, step=step, run=f"guard-operation/{arm}")
    lab.evidence.add("shown", state["finite"], run="guard-operation")
    seen = lab.evidence.fact("first_non_finite", default={}).get("loss", math.nan)
    return {"experiment": "guard-operation", "change": "the operation guarded, the same step replayed" + (f" ({where})" if where else ""),
            "before": seen, "after": value, "steps": 1, "holds": state["finite"]}
