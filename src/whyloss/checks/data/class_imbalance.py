"""Check: the most frequent class is predicted for every sample."""

from dataclasses import dataclass

import numpy as np

from whyloss.check import Check, Need
from whyloss.checks.start import loss_calls


@dataclass(frozen=True)
class ClassImbalance(Check):
    """One class is far more frequent than the others, and it is the only one predicted to the end.

    Sees      labels against predictions in the traced steps of the second half of the run.
    Expects   some right answers in every class.
    Means     a suspicion: the rare class contributes too little gradient. Confirmed when the same samples, drawn by class, let the
              rare class be found on rows that were not drawn.
    Not for   rare classes that no input tells apart (drawing by class does not help there), a rare class that is found, balanced data.
    Source    He and Garcia 2009, learning from imbalanced data.
    """

    frequent: float = 0.75   # of the labels
    rare: int = 5            # rows of a rare class at least
    calls: int = 6

    stage = "data"
    needs = (Need("loss_call", points=6),)
    isolates = "no class is ignored"
    causes = ("class-imbalance",)

    def judge(self, evidence, run):
        for place, _call, calls in loss_calls(evidence, run):
            tables = [np.array(c["confusion"]) for c in calls if c.get("confusion")]
            if len(tables) < self.calls or len({t.shape for t in tables}) > 1:
                continue
            late, all_labels = sum(tables[len(tables) // 2:]), sum(tables).sum(1)
            labels, guesses = late.sum(1), late.sum(0)
            common = int(labels.argmax())
            rare = [c for c in range(len(labels)) if c != common and labels[c] >= 1 and all_labels[c] >= self.rare]
            if labels[common] < self.frequent * labels.sum() or not rare or guesses[common] < 0.99 * guesses.sum() or any(late[c, c] for c in rare):
                continue
            share = labels[common] / labels.sum()
            missed = int(sum(labels[c] for c in rare))
            yield self.suspect("class-imbalance", subject="labels", step=0, location=place, explains=("flat-at-baseline", "plateau-high"),
                               asks={"unseen": True},
                               measured=f"{share:.1%} of the labels are class {common}; it is predicted for "
                                        f"{guesses[common] / guesses.sum():.1%} of the samples; "
                                        f"recall of the other class{'es' if len(rare) > 1 else ''} 0 of {missed}",
                               expected="some right answers in every class",
                               message=f"Class {common} is predicted for every sample: it is {share:.0%} of the data, and the rare class "
                                       "counts for too little.")
            return
