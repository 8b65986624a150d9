"""Check: a metric or self-supervised loss whose embeddings become all the same."""

import math
from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class EmbeddingsCollapse(Check):
    """The embeddings that the loss compares differ less and less between samples, until they are one point.

    Sees      the spread between samples of the embeddings that a distance, a cosine or a triplet loss compares, over the traced steps; the loss.
    Expects   a spread that stays: different inputs, different embeddings.
    Means     all distances are equal, and the loss sits at its value for that: the margin of a triplet loss, ln 2 of a logistic one, log N of a
              contrastive one, or the best value of a loss that knows no negatives.
    Not for   outputs of a classifier or a regression, networks whose weights all died, embeddings that start alike and spread, or that spread again.
    Source    Schroff et al. 2015 (FaceNet: hardest negatives collapse f(x) to a constant); Chen and He 2021 (SimSiam, without stop-gradient).
    """

    equal: float = 0.1     # standard deviation between samples over the root mean square: 99 % of the energy is common to all
    shrunk: float = 0.25   # of the spread at the start
    point: float = 0.01    # a spread below which nothing tells the embeddings apart; above it
    recovers: float = 1.1  # times the smallest one: they drift apart again, as with the hardest negatives they do late

    stage = "start"
    needs = (Need("embedding", points=5), Need("loss", "run"))
    isolates = "different inputs have different embeddings"
    causes = ("representation-collapse", "negatives-missing")

    def judge(self, evidence, run):
        if evidence.series("loss", run=run).first_non_finite() is not None:
            return  # embeddings of NaN are all alike
        losses = evidence.series("loss", run=run).finite().values
        found = {place: column.values for place, column in evidence.by_subject("embedding", run).items() if len(column) >= 5}
        for place, rows in found.items():
            first = max(row["largest"] for row in rows[:2])
            last = sorted(row["spread"] for row in rows[-3:])
            if not losses or last[len(last) // 2] > self.equal or last[len(last) // 2] > self.shrunk * first:
                continue
            if last[len(last) // 2] > max(self.point, self.recovers * min(row["spread"] for row in rows)):
                continue
            at = next((n for n, row in enumerate(rows) if row["spread"] <= self.equal), len(rows) - 1)
            means = meaning_of(losses[-1], rows[0]["operation"])
            yield self.prove("representation-collapse", subject=rows[0]["operation"], step=evidence.by_subject("embedding", run)[place].steps[at],
                             location=place, measured=f"spread of the embeddings {first:.3g} of their size at the start, "
                             f"{last[len(last) // 2]:.2g} at the end; loss {losses[-1]:.4g}{means}",
                             expected="embeddings that differ between samples",
                             explains=("plateau-high", "flat-from-start"),
                             message="Every input is mapped to the same embedding"
                             + (", so the loss stays at its value for equal distances" if means else "") + ": nothing in the loss holds them apart.",
                             remedies=("keep what prevents the collapse: stop-gradient and predictor, negatives, or a variance term",
                                       "in a triplet loss: random or semi-hard negatives at the start, a lower learning rate"))
            return


def meaning_of(value: float, operation: str) -> str:
    """" (ln 2)" and the like for what a loss is when all embeddings are equal."""
    for wanted, words in ((math.log(2), "ln 2: both distances equal"), (-1.0, "-1: every pair is equal"), (0.0, "0: every pair is equal")):
        if abs(value - wanted) < 0.02:
            return f" ({words})"
    if "triplet" in operation or "margin" in operation:
        return " (the margin: both distances equal)"
    return ""
