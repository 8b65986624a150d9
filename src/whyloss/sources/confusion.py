"""Which classes are predicted for which: a small table per traced step."""

import torch

CLASSES = 12


def table(prediction: torch.Tensor, target: torch.Tensor, *, edge: float = 0.0) -> list[list[int]] | None:
    """rows: label, columns: predicted class. prediction: (samples, classes, ...) scores, or one score a sample for two classes."""
    if prediction.dim() >= 2 and 1 < prediction.shape[1] <= CLASSES and not target.is_floating_point():
        guess, classes = prediction.argmax(1), prediction.shape[1]
    elif prediction.numel() == target.numel() == prediction.shape[0] and bool(((target == 0) | (target == 1)).all()):
        guess, classes = (prediction > edge).long(), 2
    else:
        return None
    guess, label = guess.reshape(-1), target.reshape(-1).long()
    if guess.shape != label.shape:
        return None
    kept = (label >= 0) & (label < classes)
    return torch.bincount(label[kept] * classes + guess[kept], minlength=classes * classes).reshape(classes, classes).tolist()
