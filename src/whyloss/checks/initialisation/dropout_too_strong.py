"""Dropout that leaves too little of the signal."""

from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class DropoutTooStrong(Check):
    """Dropout is active in a training that does not learn.

    Sees      every active dropout call of the traced steps, of a module or functional, with its rate, and the symptom.
    Expects   a training that learns with them; usual rates are .1 to .5.
    Means     a suspicion; confirmed only if the same training without dropout ends clearly lower.
    Not for   a training that learns: validation better than training is what dropout does.
    Source    Srivastava et al. 2014; the experiment decides, not the rate.
    """

    stage = "initialisation"
    needs = (Need("symptoms"), Need("dropout"))
    isolates = "dropout is not what holds the training back"
    causes = ("dropout-too-strong",)

    def judge(self, evidence, run):
        calls = {name: column.values[0] for name, column in evidence.by_subject("dropout", run).items()}
        active = {name: call["p"] for name, call in calls.items()}
        worst = max(active, key=active.get)
        place = calls[worst]["place"] or next(iter(evidence.by_subject("root", run)), None)
        subject = "dropout" if ":" in worst else worst
        yield self.suspect("dropout-too-strong", subject=subject, step=0, location=place, explains=tuple(evidence.fact("symptoms", run=run)),
                           measured=f"{len(active)} active dropout calls, p = {active[worst]:g} at {worst}; the loss does not fall",
                           expected="a loss that falls with dropout on",
                           message=f"{subject} ({place}) drops so much that too little of the signal is left.",
                           remedies=(f"lower p of {subject} (usual: 0.1 to 0.5)",))
