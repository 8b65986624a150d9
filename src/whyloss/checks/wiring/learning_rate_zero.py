"""The optimizer steps with a rate of 0."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.wiring import busiest, calls, learned, optimizers


@dataclass(frozen=True)
class LearningRateZero(Check):
    """The learning rate is exactly 0 at every step.

    Sees      the learning rate of each group when step() is called.
    Expects   a rate above 0 at some step.
    Means     0 by integer division or a typo, a warm-up that is never advanced, a schedule that returns 0.
    Not for   a warm-up that starts at 0 and rises, a group held at 0 on purpose while the rest learns.
    Source    definition of the update; maximum over the run.
    """

    stage = "wiring"
    needs = (Need("learning_rate", points=3),)
    isolates = "the optimizer steps with a rate above 0"
    causes = ("learning-rate-zero",)

    def judge(self, evidence, run):
        groups = evidence.by_subject("learning_rate", run)
        zero = [name for name, column in groups.items() if len(column) >= 3 and not any(column.values)]
        if not zero:
            return
        optimizer = zero[0].rsplit(".", 1)[0]
        facts = optimizers(evidence, run).get(optimizer, {})
        scheduled = any(group.get("initial_lr") for group in facts.get("groups", ()))
        where = busiest(calls(evidence, "schedule", run)) if scheduled else facts.get("place")
        say = self.prove if len(zero) == len(groups) else self.note if learned(evidence, run) else self.suspect
        yield say(
            "learning-rate-zero", subject=optimizer, step=0, location=where,
            measured=f"learning rate 0 in all {len(groups[zero[0]])} steps of {zero[0]}", expected="above 0",
            message="The schedule keeps the learning rate at 0, so no step changes anything." if scheduled else
                    "The learning rate is 0, so no step changes anything.",
            remedies=((f"look at the values the schedule returns, and that it is stepped ({where})",) if scheduled else
                      (f"give the optimizer a rate above 0; an integer division gives 0 ({where})",)),
            explains=("flat-from-start", "parameters-unchanged"))
