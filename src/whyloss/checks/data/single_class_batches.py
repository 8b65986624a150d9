"""Check: batches that hold one class each."""

import math
from dataclasses import dataclass

import numpy as np

from whyloss.check import Check, Need
from whyloss.checks.start import loss_calls


@dataclass(frozen=True)
class SingleClassBatches(Check):
    """The batches hold far fewer classes than the data: they were not shuffled.

    Sees      the number of different labels in each traced batch, and how many classes occur over the run.
    Expects   the number that a random draw of the same size gives.
    Means     the data are sorted: each stretch of batches teaches its class and unteaches the others.
    Not for   batches of a few samples, one class in all of the data, binary losses of two-part steps (GAN).
    Source    Bottou 2012; null distribution of shuffled batches, own measurements: batch entropy 0.11 against 2.15.
    """

    rows: int = 8
    batches: int = 10
    share: float = 0.8    # of the batches with a single class, or half of what chance gives

    stage = "data"
    needs = (Need("loss_call", points=10),)
    isolates = "batches are a random draw of the classes"
    causes = ("single-class-batches",)

    def judge(self, evidence, run):
        for place, call, calls in loss_calls(evidence, run):
            seen = np.array([c["labels_seen"] for c in calls if c.get("labels_seen") and math.prod(c["target_shape"]) >= self.rows])
            if len(seen) < self.batches or len(call["shape"]) != 2:
                continue
            occurring = len({c["target_min"] for c in calls} | {c["target_max"] for c in calls})
            size = math.prod(call["target_shape"])
            expected = occurring * (1 - (1 - 1 / occurring) ** size)
            single = float((seen == 1).mean())
            if occurring < 3 and not (occurring == 2 and single == 1.0) or single < self.share and not (occurring > 4
                                                                                                        and seen.max() < 0.5 * expected):
                continue
            yield self.prove("single-class-batches", subject="loader (labels per batch)", step=0,
                             location=place, explains=("oscillating", "spiky", "plateau-high"),
                             measured=f"{single:.0%} of {len(seen)} traced batches hold one class only (median {np.median(seen):g} classes in "
                                      f"{size} samples)",
                             expected=f"about {expected:.0f} of at least {occurring} classes in each batch",
                             message="The samples come sorted by class: each batch teaches one class and unteaches the others.",
                             remedies=("use shuffle=True in the training DataLoader", "shuffle once before writing an iterable data set"))
