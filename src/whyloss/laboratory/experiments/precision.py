"""The same training in single precision: what rounding, underflow and overflow of half-precision numbers cost."""

import contextlib

import torch

from whyloss.laboratory.experiments.loop import _compare
from whyloss.laboratory.interventions import Replace
from whyloss.laboratory.lab import experiment
from whyloss.laboratory.sandbox import Plan

_HALF = (torch.float16, torch.bfloat16)
_NAMES = {"half", "bfloat16", "to", "type"}


def single(arm) -> None:
    """Every parameter and buffer of the arm in float32, and no autocast."""
    for module in arm.modules.values():
        for tensor in (*module.parameters(), *module.buffers()):
            if tensor.dtype in _HALF:
                tensor.data = tensor.data.float()
    for leaf in arm.leaves.values():
        if leaf.dtype in _HALF:
            leaf.data = leaf.data.float()
    arm.bindings.ignore_autocast = True


def _stay(func, args, kwargs):
    """A cast to half precision, left out."""
    asked = func.__name__ in ("half", "bfloat16") or any(a in _HALF for a in (*args[1:], *kwargs.values()) if isinstance(a, torch.dtype))
    return args[0].float() if asked else func(*args, **kwargs)


@contextlib.contextmanager
def around():
    with Replace(_NAMES, _stay):
        yield


@experiment("single-precision")
def single_precision(lab, asks):
    plan = Plan(prepare=single, around=around, change_constant=lambda key, t: t.float() if t.dtype in _HALF else t)
    return _compare(lab, "single-precision", "weights and arithmetic in float32", plan)
