"""The loss that is meant when the caller names none."""

from typing import Any

import torch
from torch.nn import functional

from whyloss.errors import BadInput
from whyloss.sources.batches import as_tensor


def loss_for(y: Any):
    """Cross-entropy for integer targets, the mean squared error for numbers. y: the targets."""
    as_tensor(y, "y")  # says in words what is no tensor
    return any_loss


def any_loss(output: Any, target: torch.Tensor) -> torch.Tensor:
    """The default loss of a batch; `output` is a tensor, a tuple that begins with one, or an object with .logits."""
    output = tensor_of(output)
    if target.is_floating_point():
        return functional.mse_loss(output, target.reshape(output.shape) if target.numel() == output.numel() else target)
    logits, labels = as_logits(output, target)
    if logits.dim() == 1:
        return functional.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype))
    return functional.cross_entropy(logits, labels.long())


def tensor_of(output: Any) -> torch.Tensor:
    """The prediction among what a model returns. Raises BadInput."""
    found = getattr(output, "logits", output)
    found = found[0] if isinstance(found, (tuple, list)) and found else found
    if not isinstance(found, torch.Tensor):
        raise BadInput(f"the model returns a {type(output).__name__}: give a loss_fn that knows its parts")
    return found


def as_logits(output: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(logits, labels) as cross_entropy takes them: (n, C, ...) and (n, ...); logits (n,) for one output per sample."""
    labels = labels.squeeze(-1) if labels.dim() == output.dim() and labels.shape[-1] == 1 else labels
    if output.numel() == labels.numel():
        return output.reshape(-1), labels.reshape(-1)
    if output.shape[0] == labels.shape[0] and output.shape[2:] == labels.shape[1:]:
        return output, labels
    if output.shape[:-1] == labels.shape:  # classes last, as sequence models give them
        return output.reshape(-1, output.shape[-1]), labels.reshape(-1)
    raise BadInput(f"outputs {tuple(output.shape)} and labels {tuple(labels.shape)} do not fit each other: give a "
                   "loss_fn")
