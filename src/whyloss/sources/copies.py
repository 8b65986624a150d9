"""Copies of optimizers with all that belongs to them.

torch copies an optimizer's groups and state alone. A class of the script's own that remembers more (an inner optimizer, slow weights, a
counter), as L-BFGS does with its parameters, could not step afterwards.
"""

import contextlib
import copy
from types import FunctionType

import torch

_NOT_ITS_OWN = ("_optimizer_", "_hook_for_profile", "_zero_grad_profile_name", "_opt_called")  # hooks and what schedulers leave
_CALLED = {"step", "zero_grad", "add_param_group", "load_state_dict", "state_dict"}            # methods that somebody has wrapped


@contextlib.contextmanager
def whole():
    """copy.deepcopy of optimizers takes their attributes along, inside of this."""
    before = vars(torch.optim.Optimizer).get("__deepcopy__")
    if before is None:
        torch.optim.Optimizer.__deepcopy__ = _copy
    try:
        yield
    finally:
        if before is None:
            del torch.optim.Optimizer.__deepcopy__


def _copy(optimizer, memo):
    twin = memo[id(optimizer)] = type(optimizer).__new__(type(optimizer))
    twin.__setstate__(copy.deepcopy(optimizer.__getstate__(), memo))
    for name, value in vars(optimizer).items():
        if name in vars(twin) or name in _CALLED or name.startswith(_NOT_ITS_OWN) or isinstance(value, FunctionType) and value.__closure__:
            continue  # a function that knows the script's own objects must not be called on a copy
        with contextlib.suppress(Exception):  # a process group, an open file: a copy has none
            setattr(twin, name, copy.deepcopy(value, memo))
    return twin
