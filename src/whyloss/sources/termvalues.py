"""The value of each term that the differentiated loss is a sum of, step by step."""

from whyloss.sources import facts, lossterms  # noqa: F401  (facts first: it and the rooms below import each other)
from whyloss.sources.graphless import ancestors
from whyloss.sources.lossfunctions import read_call

_DIFFERENCES = {"sub", "__sub__", "subtract", "rsub", "__rsub__"}
MOST = 8


def observe(watch, window, loss) -> None:
    """Write `loss_term` where the loss is a sum of several terms that carry a gradient."""
    at = window.index.get(id(loss))
    if at is None:
        return
    factors = lossterms.split(window, at)[0]
    terms = sorted(i for i in factors if window.meta[i].wants_grad and window.meta[i].tensor.numel() == 1)
    if not 2 <= len(terms) <= MOST:
        return
    for n, i in enumerate(terms):
        maker = window.meta[i].maker
        step = window.trace[maker] if maker >= 0 else None
        where = step.place if step else None
        watch.observe("loss_term", {"value": float(window.meta[i].tensor.detach()), "operation": step.name if step else "", "place": where,
                                    "target": _has_target(window, i), "factor": factors[i],
                                    "penalty": _weights_alone(window, i)}, f"{where or '?'}#{n}")


def _weights_alone(window, i: int) -> bool:
    """Whether a term is made of trainable tensors alone: no data and no target comes in."""
    read = {j for at in ancestors(window, i) for j in window.trace[at].inputs} or {i}
    sources = [window.meta[j] for j in read if window.meta[j].maker < 0]
    return bool(sources) and all(meta.leaf and meta.wants_grad or meta.tensor.numel() == 1 for meta in sources) and \
        any(meta.wants_grad for meta in sources)


def _has_target(window, i: int) -> bool:
    """Whether a term compares something with values from outside that carry no gradient: a task, not a regulariser."""
    for at in ancestors(window, i):
        step = window.trace[at]
        call = read_call(step.name, step.args, step.kwargs)
        if call is not None and call.target is not None:
            return True
        if step.name in _DIFFERENCES and len(step.inputs) == 2:
            wants = [window.meta[j].wants_grad for j in step.inputs]
            if wants[0] != wants[1]:
                return True
    return False
