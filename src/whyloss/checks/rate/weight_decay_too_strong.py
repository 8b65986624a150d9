"""Weight decay that outweighs the gradient."""

from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class WeightDecayTooStrong(Check):
    """The decay term pulls the weights to zero faster than the gradient can build them.

    Sees      weight_decay of every optimizer group, how the weight norms changed over the run, and the symptom.
    Expects   1e-5 to 1e-2 (coupled), up to 0.1 (decoupled, AdamW).
    Means     a suspicion; confirmed only if the same training without weight decay ends clearly lower.
    Not for   a training that learns; strong decay on purpose in small-data regimes.
    Source    Krogh and Hertz 1991; Loshchilov and Hutter 2019.
    """

    strong: float = 0.03

    stage = "learning-rate"
    needs = (Need("symptoms"), Need("optimizer"))
    isolates = "weight decay is not what holds the training back"
    causes = ("weight-decay-too-strong",)

    def judge(self, evidence, run):
        for name, column in evidence.by_subject("optimizer", run).items():
            fact = column.values[-1]
            decays = [group.get("weight_decay") or 0 for group in fact["groups"]]
            if max(decays, default=0) < self.strong:
                continue
            norms = {s: (c.values[0], c.values[-1]) for s, c in evidence.by_subject("weight_norm", run).items() if len(c) > 1}
            shrunk = sum(last < 0.5 * first for first, last in norms.values())
            yield self.suspect("weight-decay-too-strong", subject=f"{name}.group{decays.index(max(decays))}", step=0, location=fact["place"],
                               measured=f"weight_decay {max(decays):g}; {shrunk} of {len(norms)} tensors lost half their norm", expected="1e-5 to 1e-2",
                               message=f"Weight decay of {max(decays):g} pulls the weights towards zero faster than the gradient builds them.",
                               remedies=("set weight_decay to 1e-4 or 0",), explains=tuple(evidence.fact("symptoms", run=run)))
            return
