"""Dropout that leaves too little of the signal."""

from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class DropoutTooStrong(Check):
    """Dropout is active in a training that does not learn.

    Sees      the dropout layers called in the traced steps, in train mode, and the symptom.
    Expects   a training that learns with them; usual rates are .1 to .5.
    Means     a suspicion; confirmed only if the same training without dropout ends clearly lower.
    Not for   a training that learns: validation better than training is what dropout does.
    Source    Srivastava et al. 2014; the experiment decides, not the rate.
    """

    stage = "initialisation"
    needs = (Need("symptoms"), Need("mode_in_loss"))
    isolates = "dropout is not what holds the training back"
    causes = ("dropout-too-strong",)

    def judge(self, evidence, run):
        layers = {name: column.values[-1] for name, column in evidence.by_subject("layer", run).items()}
        active = [name for name, column in evidence.by_subject("mode_in_loss", run).items()
                  if column.values[0] and layers.get(name, {}).get("kind", "").startswith(("Dropout", "AlphaDropout"))]
        if active:
            place = next(iter(evidence.by_subject("root", run)), None)
            yield self.suspect("dropout-too-strong", subject=active[0], step=0, location=place, explains=tuple(evidence.fact("symptoms", run=run)),
                               measured=f"{len(active)} dropout layers active ({', '.join(active[:4])}); the loss does not fall",
                               expected="a loss that falls with dropout on", message=f"{active[0]} drops so much that too little of the signal is left.",
                               remedies=(f"lower p of {active[0]} (usual: 0.1 to 0.5)",))
