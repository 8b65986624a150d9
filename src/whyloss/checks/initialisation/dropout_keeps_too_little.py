"""Check: a training that learns, but less than it would without its strong dropout."""

from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class DropoutKeepsTooLittle(Check):
    """Dropout of a rate that keeps little is active in a training that learned, and was evaluated.

    Sees      the rate of every active dropout call, rows of an evaluation with their labels; on a copy: the same start trained without dropout,
              for at most as many steps, judged on those rows beside the model that the script ended with.
    Expects   rates up to 0.5; a model that dropout made no worse on rows it never saw, which is what dropout is for.
    Means     the share to keep was given for the share to drop, or the rate of a large model was taken for a small one.
    Not for   validation that looks better than training (dropout does that), trainings without an evaluation, rates that are usual.
    Source    Srivastava et al. 2014 (0.5 for hidden units); PyTorch documentation, Dropout: p is the probability to zero. The rate only raises
              the suspicion.
    """

    strong: float = 0.65

    stage = "initialisation"
    needs = (Need("dropout"), Need("learned"))
    isolates = "dropout leaves enough to learn from"
    causes = ("dropout-too-strong",)

    def judge(self, evidence, run):
        calls = {name: column.values[0] for name, column in evidence.by_subject("dropout", run).items()}
        worst = max(calls, key=lambda name: calls[name]["p"])
        if evidence.fact("symptoms", run=run) or calls[worst]["p"] < self.strong:
            return  # with symptoms, dropout-too-strong looks at every rate
        place = calls[worst]["place"] or next(iter(evidence.by_subject("root", run)), None)
        subject = "dropout" if ":" in worst else worst
        yield self.suspect("dropout-too-strong", subject=subject, step=0, location=place, asks={"unseen": True, "held": True},
                           measured=f"p = {calls[worst]['p']:g} at {worst}", expected="a model that dropout makes no worse on new rows",
                           message=f"{subject} ({place}) drops so much that too little of the signal is left.",
                           remedies=(f"lower p of {subject} (usual: 0.1 to 0.5)", f"if {calls[worst]['p']:g} is meant as the share to keep, "
                                     f"give p = {1 - calls[worst]['p']:.3g}"))
