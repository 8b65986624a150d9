"""Evaluation phases: root modules called without gradients. Their losses, predictions, inputs and modes."""

import math

import torch

from whyloss.sources.holdout import Holdout
from whyloss.sources.lossfunctions import LOSSES, read_call
from whyloss.sources.nearcopies import near_copies
from whyloss.sources.structure import tensors_in

_DECIDES = {"argmax", "max", "topk", "gt", "ge", "__gt__", "__ge__", "round", "linear", "squeeze_"}
BATCHES = 64   # looked at in one phase
ROWS = 4000    # row fingerprints kept
SET = 8        # rows of a batch at least: what acts in an environment is asked a row at a time
COMPARED = 2   # phases whose rows are compared with training rows by distance


class Evaluation:
    """Part of a Watch. A phase is a run of gradient-free root calls with no training call between."""

    def __init__(self, watch):
        self.watch = watch
        self.phases = 0
        self.training_rows: dict[bytes, int] = {}
        self.training_inputs = None
        self.compared = 0
        self.holdout = Holdout()
        self._fresh()

    def _fresh(self) -> None:
        self.losses: list[tuple[str, float]] = []
        self.right = self.total = 0
        self.inputs: list[torch.Tensor] = []
        self.rows: list[bytes] = []
        self.row_groups: list[list[bytes]] = []   # one per batch
        self.batches = 0
        self.output = None
        self.modes: set[str] = set()
        self.place = None
        self.labels: list = []

    def batch_begins(self, window, module, args, kwargs) -> None:
        window.trace, window.meta, window.index, window.plain = [], [], {}, {}
        self.batches += 1
        if self.batches > BATCHES:
            return
        if self.watch.window_count:
            self.holdout.begins(module, args, kwargs, self._known)
        for tensor in tensors_in((args, kwargs)) if self._is_trained(module) else ():
            if tensor.is_floating_point() and tensor.dim() >= 2:
                self.inputs.append(tensor.detach()[:256].float().clone())
                self.row_groups.append(fingerprints(tensor))
                self.rows += self.row_groups[-1]
                break
        for name, part in module.named_modules():
            if part.training and type(part).__name__.startswith(("Dropout", "BatchNorm")) and getattr(part, "p", 1) != 0:
                self.modes.add(name)

    def _is_trained(self, module) -> bool:
        """Not a target network or a teacher, whose answers are part of the training."""
        held = {id(p) for o in self.watch.optimizers.values() for group in o.param_groups for p in group["params"]}
        return not held or any(id(p) in held for p in module.parameters())

    def batch_output(self, window, module, result, where) -> None:
        self.output = next((t for t in tensors_in(result) if t.is_floating_point()), None)
        self.place = where

    def operation(self, window, step) -> None:
        """Losses and argmax comparisons that follow a gradient-free call."""
        if self.batches > BATCHES or self.watch.recorder.depth:
            return
        if step.name in LOSSES and isinstance(step.result, torch.Tensor) and step.result.numel() == 1:
            self.losses.append((step.place or "?", float(step.result.detach())))
            call = read_call(step.name, step.args, step.kwargs)
            self.holdout.compared(call.target if call is not None else None)
        elif step.name in ("eq", "__eq__", "ne", "__ne__") and isinstance(step.result, torch.Tensor):
            share = float(step.result.float().mean())
            count = step.result.numel()
            if self.output is not None and count in (self.output.shape[0], math.prod(self.output.shape[:-1]) if self.output.dim() > 1 else 0):
                self.right += (share if step.name.strip("_") == "eq" else 1 - share) * count
                self.total += count
                self.labels.append(next((t.detach() for t in tensors_in(step.args) if not t.is_floating_point()), None))
                self.holdout.compared(_given(window, step))

    def phase_over(self) -> None:
        if not self.batches:
            return
        watch = self.watch
        if watch.window_count:
            if self.losses:
                watch.observe("val_loss", sum(v for _, v in self.losses) / len(self.losses))
            if self.total:
                watch.observe("val_accuracy", self.right / self.total)
            watch.observe("evaluated_in_train_mode", sorted(self.modes), self.place or "evaluation")
            self._inputs()
        self.holdout.over()
        watch.program.holdout = self.holdout.kept
        self.phases += 1
        self._fresh()

    def _inputs(self) -> None:
        watch = self.watch
        if self.inputs and all(t.shape[1:] == self.inputs[0].shape[1:] for t in self.inputs):
            rows = torch.cat(self.inputs)[:2048].reshape(-1, self.inputs[0][0].numel())
            known = sum(row in self.training_rows for row in self.rows)
            found = [(len(group), sum(row in self.training_rows for row in group)) for group in self.row_groups]
            partly = [(size, hits) for size, hits in found if hits < size]   # a batch known as a whole is an evaluation of the training set
            fact = {"partly_known_rows": sum(size for size, _ in partly), "partly_known": sum(hits for _, hits in partly),
                    "known_distinct": len(set(self.rows) & self.training_rows.keys()),
                    "rows": len(self.rows), "in_training": known, "distinct_training": len(self.training_rows),
                    "repeated_training": sum(count > 1 for count in self.training_rows.values()),
                    "mean": float(rows.mean()), "std": float(rows.std()) if rows.numel() > 1 else 0.0}
            if self.training_inputs is not None and self.training_inputs.shape[1] == rows.shape[1] and len(rows) > 8:
                fact.update(compare_inputs(self.training_inputs, rows))
            watch.observe("evaluation_inputs", fact, self.place or "evaluation")
            self._copies()

    def _copies(self) -> None:
        """Batches that are no training rows, beside the training rows: copies with noise."""
        hits = [sum(row in self.training_rows for row in group) for group in self.row_groups]
        new = [at for at, group in enumerate(self.row_groups) if len(group) >= SET and hits[at] <= 0.2 * len(group)]
        few = sum(hits[at] for at in new) <= 0.005 * sum(len(self.row_groups[at]) for at in new)
        if not new or not few or self.compared >= COMPARED or self.training_inputs is None:
            return
        rows = torch.cat([self.inputs[at] for at in new])[:1024]
        rows = rows.reshape(len(rows), -1)
        fact = near_copies(self.training_inputs, rows) if rows.shape[1] == self.training_inputs.shape[1] else None
        if fact is not None:
            self.compared += 1
            self.watch.observe("evaluation_copies", fact, self.place or "evaluation")

    def _known(self, tensor: torch.Tensor) -> list[bool]:
        return [row in self.training_rows for row in fingerprints(tensor)]

    def training_batch(self, tensor: torch.Tensor) -> None:
        """Fingerprints and a sample of the training inputs, from captured steps."""
        if len(self.training_rows) < ROWS:
            for row in fingerprints(tensor):
                self.training_rows[row] = self.training_rows.get(row, 0) + 1
        if tensor.is_floating_point():
            flat = tensor.detach().float().reshape(tensor.shape[0], -1)
            if self.training_inputs is None:
                self.training_inputs = flat[:256].clone()
            elif self.training_inputs.shape[1] == flat.shape[1] and len(self.training_inputs) < 1024:
                self.training_inputs = torch.cat([self.training_inputs, flat[:128]])


def _given(window, step):
    """The side of a comparison that does not come out of the model: labels, as they were loaded or after a cast."""
    sides = list(tensors_in(step.args))
    for side in reversed(sides):
        at = window.index.get(id(side), -1)
        for _ in range(6):
            maker = window.meta[at].maker if at >= 0 else -1
            if maker < 0 or not window.trace[maker].inputs or window.trace[maker].name in _DECIDES:
                break
            at = window.trace[maker].inputs[0]
        if maker < 0:
            return side
    return None


def fingerprints(tensor: torch.Tensor) -> list[bytes]:
    """8-byte hashes of the rows of a batch, at most 512."""
    import hashlib
    rows = tensor.detach()[:512].reshape(min(len(tensor), 512), -1).cpu()
    if rows.dtype == torch.bfloat16:
        rows = rows.float()
    return [hashlib.blake2b(row.numpy().tobytes(), digest_size=8).digest() for row in rows.contiguous()]


def compare_inputs(train: torch.Tensor, other: torch.Tensor) -> dict:
    """Median over features of |standardised mean difference| and of log(std ratio), over features that vary in training."""
    spread, mean = train.std(0), train.mean(0)
    varies = spread > 1e-8 + 1e-3 * spread.max()
    if not bool(varies.any()):
        return {}
    shift = ((other.mean(0) - mean).abs() / spread)[varies]
    ratio = (other.std(0).clamp_min(1e-12) / spread.clamp_min(1e-12)).log()[varies]
    overall = (other.std() / train.std().clamp_min(1e-12)).clamp_min(1e-12).log()
    return {"shift": float(shift.median()), "log_std_ratio": float(ratio.median()), "overall_log_std_ratio": float(overall)}
