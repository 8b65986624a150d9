"""torch's loss functions: where prediction, target, reduction and weights stand in a call."""

from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class LossCall:
    """One call of a loss function, its arguments by role."""

    name: str
    prediction: torch.Tensor
    target: torch.Tensor | None
    reduction: str
    weight: Any = None
    pos_weight: Any = None
    ignore_index: int | None = None
    smoothing: float = 0.0


# position of reduction, then of ignore_index and label_smoothing where they exist
_POSITIONS = {
    "cross_entropy": {"weight": 2, "ignore_index": 4, "reduction": 6, "label_smoothing": 7},
    "nll_loss": {"weight": 2, "ignore_index": 4, "reduction": 6},
    "nll_loss_nd": {"weight": 2, "reduction": 3, "ignore_index": 4},
    "binary_cross_entropy": {"weight": 2, "reduction": 5},
    "binary_cross_entropy_with_logits": {"weight": 2, "reduction": 5, "pos_weight": 6},
    "mse_loss": {"reduction": 4}, "l1_loss": {"reduction": 4}, "smooth_l1_loss": {"reduction": 4},
    "huber_loss": {"reduction": 2}, "kl_div": {"reduction": 4}, "poisson_nll_loss": {}, "gaussian_nll_loss": {},
    "ctc_loss": {}, "margin_ranking_loss": {}, "triplet_margin_loss": {}, "hinge_embedding_loss": {},
    "multi_margin_loss": {}, "soft_margin_loss": {}, "multilabel_soft_margin_loss": {}, "cosine_embedding_loss": {},
}
LOSSES = frozenset(_POSITIONS)
CLASS_LOSSES = frozenset({"cross_entropy", "nll_loss", "nll_loss_nd"})


def read_call(name: str, args: tuple, kwargs: dict) -> LossCall | None:
    """The roles of a call's arguments, or None if it is no loss whose roles are known."""
    if name not in LOSSES:
        return None

    def given(role: str, default: Any) -> Any:
        if role in kwargs:
            return kwargs[role]
        at = _POSITIONS[name].get(role)
        return args[at] if at is not None and len(args) > at else default

    prediction = args[0] if args else kwargs.get("input")
    target = args[1] if len(args) > 1 else kwargs.get("target")
    if not isinstance(prediction, torch.Tensor):
        return None
    return LossCall(name, prediction, target if isinstance(target, torch.Tensor) else None, str(given("reduction", "mean")),
                    given("weight", None), given("pos_weight", None), given("ignore_index", None), float(given("label_smoothing", 0.0) or 0.0))
