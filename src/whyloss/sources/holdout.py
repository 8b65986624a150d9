"""Pairs of an evaluation, kept for experiments: inputs a root module was given without gradients, and the labels compared.

Rows that were trained on are left out, so what is left is new to the model.
"""

from dataclasses import dataclass

import torch

from whyloss.sources.structure import tensors_in

ROWS = 1024
BYTES = 32 * 2**20
KNOWN = 0.02   # share of a batch's rows that were trained on, from which on the batch counts as training data


@dataclass
class Pairs:
    """One evaluated batch. inputs: the root call's tensors in order, each (rows, ...); labels: (rows, ...) or None."""

    module: int
    inputs: tuple[torch.Tensor, ...]
    labels: torch.Tensor | None = None
    rows: torch.Tensor | None = None    # which rows of the batch were kept, where not all were


class Holdout:
    """The last evaluation phase that was as large as any before it, or at least half as large."""

    def __init__(self) -> None:
        self.current: list[Pairs] = []
        self.kept: list[Pairs] = []
        self.size = self.bytes = self.rows = 0

    def begins(self, module, args, kwargs, known) -> None:
        """A gradient-free root call: its inputs are copied, for the caller may overwrite them.

        known  (tensor) -> for each row, whether it was trained on
        """
        tensors = [t for t in tensors_in((args, kwargs)) if t.dim() >= 1]
        self.size = tensors[0].shape[0] if tensors else 0
        if self.size == 0 or self.rows >= ROWS or any(t.shape[0] != self.size for t in tensors):
            self.size = 0
            return
        hits = known(tensors[0])
        if sum(hits) > KNOWN * len(hits):
            self.size = 0
            return
        rows = None
        if self.size > ROWS - self.rows:
            count = ROWS - self.rows
            rows = torch.arange(count, device=tensors[0].device) * self.size // count  # spread over a set that may be sorted
        cost = sum(t.numel() * t.element_size() for t in tensors) * (1 if rows is None else len(rows) / self.size)
        if self.bytes + cost > BYTES:
            self.size = 0
            return
        self.bytes += cost
        self.rows += self.size if rows is None else len(rows)
        self.current.append(Pairs(id(module), tuple(t.detach().clone() if rows is None else t.detach()[rows] for t in tensors), None, rows))

    def compared(self, target) -> None:
        """The labels a loss or a comparison was given after the call."""
        if not self.current or not self.size or not isinstance(target, torch.Tensor) or target.dim() < 1 or target.shape[0] != self.size:
            return
        pairs = self.current[-1]
        if pairs.labels is None and not target.requires_grad:
            pairs.labels = target.detach().clone() if pairs.rows is None else target.detach()[pairs.rows.to(target.device)]

    def over(self) -> None:
        """The phase has ended: it is kept if it is not much smaller than the one kept so far."""
        fresh = [p for p in self.current if p.labels is not None and p.labels.shape[0] == p.inputs[0].shape[0]]
        if fresh and 2 * sum(len(p.inputs[0]) for p in fresh) >= sum(len(p.inputs[0]) for p in self.kept):
            self.kept = fresh
        self.current, self.size, self.bytes, self.rows = [], 0, 0, 0
