"""What becomes of a softmax inside a model: over which axis the values that it weights are summed."""

_ON = {"unsqueeze", "__getitem__", "mul", "__mul__", "__rmul__", "dropout", "to", "float", "type_as", "contiguous", "expand", "expand_as"}
_PRODUCTS = {"matmul", "__matmul__", "bmm", "mm"}
DEPTH = 5


def of_first_axis(window, step) -> dict:
    """{"chosen": whether its axis was named, "summed": see `summed_axis`} of a softmax over the first axis."""
    named = step.kwargs.get("dim", step.args[1] if len(step.args) > 1 else None) is not None
    return {"chosen": named, "summed": summed_axis(window, step)}


def summed_axis(window, step) -> int | None:
    """The axis over which the weighted values are summed, counted in the tensor that is summed; None where that is not seen.

    Followed as far as the first axis stays the first: through products, and through views that add an axis behind it.
    """
    rows = window.meta[step.outputs[0]].shape[0] if step.outputs else 0
    at = step.outputs[0] if step.outputs else -1
    for _ in range(DEPTH):
        following = next((s for s in window.trace if at in s.inputs), None)
        if following is None or not following.outputs:
            return None
        if following.name in _PRODUCTS:
            shape = window.meta[at].shape
            return len(shape) - (1 if following.inputs[0] == at else 2) if len(shape) > 1 else None
        if following.name in ("sum", "mean") and following.inputs[0] == at:
            return _axis(following, len(window.meta[at].shape))
        shape = window.meta[following.outputs[0]].shape
        if following.name not in _ON or not shape or shape[0] != rows or len(shape) < len(window.meta[at].shape):
            return None
        at = following.outputs[0]
    return None


def _axis(step, axes: int) -> int | None:
    dim = step.kwargs.get("dim", step.args[1] if len(step.args) > 1 else None)
    dim = dim[0] if isinstance(dim, (tuple, list)) and len(dim) == 1 else dim
    return dim % axes if isinstance(dim, int) and not isinstance(dim, bool) else None
