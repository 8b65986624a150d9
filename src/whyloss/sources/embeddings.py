"""Embeddings that a loss compares with each other: how much do they differ between samples?"""

import torch

from whyloss.sources import facts, stepfacts  # noqa: F401  (facts first: the two import each other)

_COMPARES = {"cosine_similarity", "cdist", "pairwise_distance", "triplet_margin_loss", "triplet_margin_with_distance_loss", "cosine_embedding_loss",
             "hinge_embedding_loss", "normalize"}
_DIRECTIONS = {"cosine_similarity", "cosine_embedding_loss", "normalize"}  # lengths do not count there
_PLAIN = {"sub", "__sub__", "subtract", "matmul", "__matmul__", "mm"}


def observe(watch, window, loss) -> None:
    """Write `embedding` for every operation on the way to the loss that compares a model's outputs with each other."""
    outputs = {window.index[id(t)] for _module, _inputs, made, _where in window.calls for t in made if id(t) in window.index}
    for at in sorted(stepfacts._ancestors(window, loss)):
        step = window.trace[at]
        if step.name in _COMPARES:
            parts = step.inputs[:3]
        elif step.name in _PLAIN and len(step.inputs) == 2 and all(_origin(window, i) in outputs for i in step.inputs):
            parts = step.inputs
        else:
            continue
        spreads = [s for i in parts if (s := _spread(window.meta[i].tensor, step.name in _DIRECTIONS)) is not None]
        if spreads and any(window.meta[i].wants_grad for i in parts):
            watch.observe("embedding", {"operation": step.name, "spread": min(spreads), "largest": max(spreads)}, step.place or "?")


def _origin(window, tensor: int) -> int:
    """The tensor that this one is a view of."""
    for _ in range(8):
        maker = window.meta[tensor].maker
        if maker < 0 or window.trace[maker].name not in stepfacts.VIEWS | {"detach"} or not window.trace[maker].inputs:
            return tensor
        tensor = window.trace[maker].inputs[0]
    return tensor


def _spread(tensor: torch.Tensor, directions: bool) -> float | None:
    """Standard deviation between samples over the root mean square: 0 when every sample has the same embedding. (samples, width)"""
    if tensor.dim() != 2 or tensor.shape[0] < 4 or tensor.shape[1] < 2 or not tensor.is_floating_point():
        return None
    values = tensor.detach().float()
    values = torch.nn.functional.normalize(values, dim=1) if directions else values
    size = float(values.pow(2).mean().sqrt())
    return float(values.var(0).mean().sqrt()) / size if size > 0 else 0.0
