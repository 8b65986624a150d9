"""Batch norm over a handful of samples."""

import re
from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class SmallBatchNorm(Check):
    """Batch norm is computed over so few values that its output says little about the input.

    Sees      shapes entering batch norm layers (samples times positions), and the symptom.
    Expects   at least some ten values a channel; with two, the output is +1 and -1 whatever the input.
    Means     a suspicion; confirmed only if larger batches end clearly lower.
    Not for   a training that learns; convolutions with many positions; frozen batch norm.
    Source    Ioffe and Szegedy 2015; Wu and He 2018 (group normalisation).
    """

    least: int = 6  # values a channel

    stage = "initialisation"
    needs = (Need("layer"), Need("symptoms"), Need("mode_in_loss"))
    isolates = "batch statistics rest on enough values"
    causes = ("batch-statistics-unreliable",)

    def judge(self, evidence, run):
        for name, column in evidence.by_subject("layer", run).items():
            if not column.values[-1]["kind"].startswith("BatchNorm") or not evidence.fact("mode_in_loss", name, run):
                continue
            shape = [int(n) for n in re.findall(r"[0-9]+", column.values[-1]["in"])]
            values = shape[0] if len(shape) > 1 else 0
            for extent in shape[2:]:
                values *= extent
            if 0 < values < self.least:
                yield self.suspect("batch-statistics-unreliable", subject=name, step=0, location=next(iter(evidence.by_subject("root", run)), None),
                                   measured=f"{values} values a channel in {name}, input {tuple(shape)}", expected=f"at least {self.least}",
                                   message=f"{name} normalises over {values} values a channel: its output hardly depends on the input.",
                                   remedies=("use larger batches", "use GroupNorm or LayerNorm instead of batch norm"))
                return
