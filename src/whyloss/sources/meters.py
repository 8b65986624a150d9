"""tensor -> number. No copies are kept; a non-finite sum is the finite check, since exact comparisons cost 50 times more."""

import math

import torch

from whyloss.sources.shards import local


def norm(tensor: torch.Tensor) -> float:
    """L2 norm. An underflow to 0 is told apart from a true zero by the largest entry."""
    with torch.no_grad():
        values = dense(tensor)
        value = float(torch.linalg.vector_norm(values.abs() if values.is_complex() else values.float()))
        if value == 0.0 and tensor.numel():
            largest = float(dense(tensor).abs().max())
            return largest
        return value


def dense(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.coalesce().values() if tensor.is_sparse else local(tensor.detach())


def grad_state(grad: torch.Tensor | None) -> str:
    """none, zero, finite, nan or inf."""
    if grad is None:
        return "none"
    total = norm(grad)
    if math.isfinite(total):
        return "finite" if total > 0 else "zero"
    values = dense(grad)
    if bool(torch.isnan(values).any()):
        return "nan"
    return "inf" if bool(torch.isinf(values).any()) else "finite"


def activation(output: torch.Tensor) -> dict[str, float]:
    """Statistics of a module's output. output: (batch, ..., units)

    activation_std  over all entries          activation_mean
    signal          mean over units of the std over samples: what is left of the input (Schoenholz et al. 2017)
    """
    with torch.no_grad():
        values = output.detach().float()
        if values.numel() < 2:
            return {}
        flat = values.reshape(values.shape[0], -1)
        row = {"activation_std": float(flat.std()), "activation_mean": float(flat.mean())}
        if flat.shape[0] > 1:
            row["signal"] = float(flat.std(dim=0).mean())
        return row


def dead_units(output: torch.Tensor) -> torch.Tensor:
    """Which units are never above 0 in this batch. (batch, units) or (batch, channels, ...) -> bool (units,)"""
    with torch.no_grad():
        values = output.detach()
        if values.dim() == 4:
            return ~(values > 0).transpose(0, 1).reshape(values.shape[1], -1).any(1)
        return ~(values > 0).reshape(-1, values.shape[-1]).any(0)


def saturated_share(output: torch.Tensor, kind: str) -> float:
    """Share of sigmoid outputs outside (.03, .97), or of tanh outputs beyond .97 in absolute value."""
    with torch.no_grad():
        values = output.detach()
        flat = (values - 0.5).abs() > 0.47 if kind == "sigmoid" else values.abs() > 0.97
        return float(flat.float().mean())


def entropy(labels: torch.Tensor) -> float:
    """Entropy of integer labels in nats: the loss of the best constant prediction."""
    _, counts = torch.unique(labels.detach().reshape(-1), return_counts=True)
    share = counts.double() / counts.sum()
    return float(-(share * share.log()).sum())
