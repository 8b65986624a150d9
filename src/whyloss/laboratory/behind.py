"""The activation between the last layer and the loss taken off, and nothing else, whatever line or container it stands in."""

import torch
from torch.overrides import TorchFunctionMode

from whyloss.sources.lossfunctions import LOSSES
from whyloss.sources.stepfacts import POOLS, VIEWS

_SUBTRACTIONS = frozenset({"sub", "__sub__", "rsub", "__rsub__", "subtract"})
_SINKS = {"log_softmax": {"log_softmax"}, "logsumexp": {"logsumexp", *_SUBTRACTIONS}, "difference": set(_SUBTRACTIONS)}


class BehindActivation(TorchFunctionMode):
    """Each result of the named functions is followed through views and pooling; the loss gets what went into the function instead.

    sink  what counts as the loss: "log_softmax", "logsumexp", "difference" for losses written by hand, else torch's loss functions
    loss  the name of a loss function put in place of the one called
    """

    def __init__(self, names, sink: str | None = None, loss: str | None = None):
        super().__init__()
        self.names = frozenset(names)
        self.sinks = frozenset(_SINKS.get(sink, LOSSES))
        self.loss = getattr(torch.nn.functional, loss) if loss else None
        self.raw: dict[int, tuple] = {}

    def _before(self, thing):
        held = self.raw.get(id(thing))
        return held[1] if held is not None and held[0] is thing else None

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name == "__get__":
            name = func.__self__.__name__
        plain = name if name.endswith("__") else name.rstrip("_")
        if plain in self.names and args and isinstance(args[0], torch.Tensor):
            given = args[0]
            if name != plain or kwargs.get("inplace"):  # written in place: what went in must survive
                args = (given.clone(), *args[1:])
            result = func(*args, **kwargs)
            self.raw[id(result)] = (result, given)
            return result
        found = [self._before(a) if isinstance(a, torch.Tensor) else None for a in args[:2]]
        if any(f is not None for f in found):
            if plain in VIEWS | POOLS and found[0] is not None:
                result, raw = func(*args, **kwargs), func(found[0], *args[1:], **kwargs)
                if isinstance(result, torch.Tensor):
                    self.raw[id(result)] = (result, raw)
                return result
            if plain in self.sinks:
                given = [a if f is None else f for a, f in zip(args, found)]
                if self.loss is not None:
                    return self.loss(given[0], given[1] if len(given) > 1 else kwargs["target"])
                return func(*given, *args[2:], **kwargs)
        return func(*args, **kwargs)
