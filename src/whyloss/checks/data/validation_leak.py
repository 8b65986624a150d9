"""Check: training samples in the validation set."""

from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class ValidationLeak(Check):
    """Many rows of an evaluation set, smaller than the training set, were trained on.

    Sees      fingerprints of the rows the model was trained on in traced steps, and of the rows of each evaluation phase.
    Expects   none in common.
    Means     validation measures memory instead of learning.
    Not for   an evaluation of the training set itself (all rows known, or at least as many rows as the training set), single duplicates;
              calls whose outputs are compared with nothing, or become part of the training: states an agent acts on, targets it learns from.
    Source    Kapoor and Narayanan 2023; exact equality of rows, so near-copies are missed.
    """

    rows: int = 50
    least: float = 0.05
    whole: float = 0.9  # share of the training rows seen again: then it is an evaluation of the training set
    certain: float = 0.3  # so many rows equal bit for bit are no chance duplicates
    cap: int = 512      # rows fingerprinted of one batch

    stage = "data"
    needs = (Need("evaluation_inputs"), Need("input"), Need("scored_call"))
    isolates = "evaluation rows are new to the model"
    causes = ("validation-leak",)

    def judge(self, evidence, run):
        scored = evidence.by_subject("scored_call", run)
        for place, column in evidence.by_subject("evaluation_inputs", run).items():
            if place not in scored:
                continue
            fact = column.values[-1]
            rows, known = fact.get("partly_known_rows", fact["rows"]), fact.get("partly_known", fact["in_training"])
            trained = fact["distinct_training"]
            itself = fact.get("known_distinct", rows) > self.whole * trained or known == rows
            if rows < self.rows or itself or rows % self.cap == 0 or known < self.least * rows:
                continue
            say = self.prove if known > self.certain * rows else self.suspect
            yield say("validation-leak", subject="validation split", step=column.steps[-1],
                      location=place, explains=("validation-too-good",),
                      measured=f"{known} of {rows} evaluation rows are among the {trained} different rows trained on", expected="0",
                      message=f"{known / rows:.0%} of the rows evaluated here were trained on, so this number says nothing about new data.",
                      remedies=("split before augmenting or duplicating", "assert that both index sets are disjoint",
                                "split by group: patient, user, time"))
