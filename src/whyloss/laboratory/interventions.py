"""Changes to a function's meaning while a copy runs: torch-function modes used by experiments only, never by the watch."""

import contextlib

import torch
from torch.overrides import TorchFunctionMode

from whyloss.sources import place

_STEP_FUNCTIONS = {"round", "floor", "ceil", "sign", "trunc", "sgn", "heaviside"}


class Replace(TorchFunctionMode):
    """Calls of the named functions (at one line, if given) go to `instead(func, args, kwargs)`."""

    def __init__(self, names, instead, where: str | None = None):
        super().__init__()
        self.names, self.instead, self.where, self.hits = frozenset(names), instead, where, 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name == "__get__":
            name = func.__self__.__name__
        if name.rstrip("_") in self.names or name in self.names:
            here = place.here(2)
            if self.where is None or here is None or here == self.where:
                self.hits += 1
                return self.instead(func, args, kwargs)
        return func(*args, **kwargs)


def identity(func, args, kwargs):
    """The first argument, as if the function were not there."""
    return args[0]


def attached():
    """detach() and .data hand on the tensor, step functions pass the gradient straight through, no_grad does nothing."""
    def pass_through(func, args, kwargs):
        name = getattr(func, "__name__", "")
        if name.rstrip("_") in _STEP_FUNCTIONS:
            result = func(args[0].detach(), *args[1:], **kwargs)
            return args[0] + (result - args[0]).detach()
        return args[0].view_as(args[0]) if isinstance(args[0], torch.Tensor) else func(*args, **kwargs)

    @contextlib.contextmanager
    def around():
        original = torch.no_grad.__enter__
        torch.no_grad.__enter__ = lambda self: setattr(self, "prev", torch.is_grad_enabled())
        try:
            with Replace({"detach", "data", *_STEP_FUNCTIONS}, pass_through):
                yield
        finally:
            torch.no_grad.__enter__ = original
    return around


def without_dropout():
    """Functional dropout off; dropout modules are set to p = 0 by quiet_dropout()."""
    return Replace({"dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"}, identity)


def quiet_dropout(arm) -> None:
    """Every dropout module of the arm at p = 0."""
    for module in arm.modules.values():
        for part in module.modules():
            if type(part).__name__.startswith(("Dropout", "AlphaDropout", "FeatureAlphaDropout")):
                part.p = 0.0
            elif hasattr(part, "dropout") and isinstance(part.dropout, (int, float)) and not isinstance(part.dropout, bool):
                part.dropout = 0.0


def reset(arm) -> None:
    """A fresh initialisation: reset_parameters() wherever a module has it, Kaiming for loose matrices."""
    torch.manual_seed(7)
    known = set()
    for module in arm.modules.values():
        for part in module.modules():
            own = {id(p) for p in part._parameters.values() if p is not None}
            if hasattr(part, "reset_parameters") and own:
                part.reset_parameters()
                known |= own
    with torch.no_grad():
        for leaf in arm.leaves.values():
            if id(leaf) in known or not leaf.is_floating_point():
                continue
            if leaf.dim() >= 2:
                torch.nn.init.kaiming_uniform_(leaf, a=5 ** 0.5)


def kaiming(arm) -> None:
    """He initialisation of every matrix, biases zero; normalisation layers keep their ones."""
    torch.manual_seed(7)
    with torch.no_grad():
        for module in arm.modules.values():
            for part in module.modules():
                if isinstance(part, torch.nn.modules.batchnorm._NormBase) or type(part).__name__ in ("LayerNorm", "RMSNorm", "GroupNorm"):
                    continue
                for name, parameter in part._parameters.items():
                    if parameter is None or not parameter.is_floating_point():
                        continue
                    if parameter.dim() >= 2:
                        torch.nn.init.kaiming_normal_(parameter, nonlinearity="relu")
                    elif "bias" in name:
                        parameter.zero_()
        loose = {id(p) for m in arm.modules.values() for p in m.parameters()}
        for leaf in arm.leaves.values():
            if id(leaf) not in loose and leaf.dim() == 2:
                leaf.normal_(0, (2 / leaf.shape[0]) ** 0.5)


def fit_to_inputs(arm, tape) -> None:
    """Scale each linear or convolution layer down until its outputs on one captured step have a mean square of 1 at most, first layer first."""
    def scaled(part, _given, output):
        size = float(output.detach().square().mean().sqrt()) if isinstance(output, torch.Tensor) else 0.0
        if not 2.0 < size < float("inf"):
            return None
        with torch.no_grad():  # the step itself may have switched gradients on
            for parameter in (part.weight, part.bias):
                if parameter is not None:
                    parameter.div_(size)
        return output / size

    kinds = (torch.nn.Linear, torch.nn.modules.conv._ConvNd)
    hooks = [part.register_forward_hook(scaled) for module in arm.modules.values() for part in module.modules() if isinstance(part, kinds)]
    try:
        with torch.no_grad():
            tape.run(arm.bindings)
    finally:
        for hook in hooks:
            hook.remove()
