"""Weight decay that outweighs the gradient."""

from dataclasses import dataclass

from whyloss.check import Check, Need

_ADAPTIVE = ("Adam", "NAdam", "RAdam", "Adagrad", "Adadelta", "RMSprop", "Rprop", "Adamax")  # AdamW by its group's decoupled_weight_decay


@dataclass(frozen=True)
class WeightDecayTooStrong(Check):
    """The decay term pulls the weights to zero faster than the gradient can build them.

    Sees      weight_decay of every optimizer group, terms of the loss that are made of weights alone, how the weight norms changed over
              the run, and the symptom.
    Expects   1e-5 to 1e-2 (coupled, SGD), 1e-6 to 1e-3 (coupled, adaptive), up to 0.1 (decoupled, AdamW); a penalty far below the rest of the loss.
    Means     a suspicion; confirmed only if the same training without weight decay ends clearly lower.
    Not for   a training that learns; strong decay on purpose in small-data regimes.
    Source    Krogh and Hertz 1991; Loshchilov and Hutter 2019.
    """

    strong: float = 0.03
    coupled: float = 3e-3  # added to the gradient of an adaptive optimizer, which steps as far on it as on the loss's; with shrunken tensors
    heavy: float = 0.1    # of the rest of the loss: the share of a penalty, where it begins

    stage = "learning-rate"
    needs = (Need("symptoms"),)
    isolates = "weight decay is not what holds the training back"
    causes = ("weight-decay-too-strong",)

    def judge(self, evidence, run):
        for name, column in evidence.by_subject("optimizer", run).items():
            fact = column.values[-1]
            decays = [group.get("weight_decay") or 0 for group in fact["groups"]]
            shrunk, tensors = self._shrunk(evidence, run)
            adapts = fact.get("class", "").startswith(_ADAPTIVE) and not any(group.get("decoupled_weight_decay") for group in fact["groups"])
            if max(decays, default=0) < (self.coupled if adapts and shrunk else self.strong):
                continue
            yield self.suspect("weight-decay-too-strong", subject=f"{name}.group{decays.index(max(decays))}", step=0, location=fact["place"],
                               measured=f"weight_decay {max(decays):g}; {shrunk} of {tensors} tensors lost half their norm",
                               expected="1e-6 to 1e-3 where it is added to the gradient of an adaptive optimizer" if adapts else "1e-5 to 1e-2",
                               message=f"Weight decay of {max(decays):g} pulls the weights towards zero faster than the gradient builds them.",
                               remedies=("set weight_decay to 1e-4 or 0",), explains=tuple(evidence.fact("symptoms", run=run)))
            return
        yield from self._penalty(evidence, run)

    def _penalty(self, evidence, run):
        columns = evidence.by_subject("loss_term", run)
        penalties = {s: c for s, c in columns.items() if all(row.get("penalty") for row in c.values)}
        if not penalties or len(penalties) == len(columns):
            return
        start = {s: abs(c.values[0]["value"] * c.values[0].get("factor", 1.0)) for s, c in columns.items()}
        weight, rest = sum(start[s] for s in penalties), sum(start[s] for s in columns if s not in penalties)
        if not weight > self.heavy * rest:
            return
        shrunk, tensors = self._shrunk(evidence, run)
        places = sorted({c.values[0]["place"] for c in penalties.values() if c.values[0]["place"]})
        yield self.suspect("weight-decay-too-strong", subject=penalties[max(penalties, key=start.get)].values[0]["operation"] or "penalty", step=0,
                           location=places[0] if places else None,
                           measured=f"the penalty on the weights begins at {weight:.4g} beside {rest:.4g} of the rest of the loss; "
                                    f"{shrunk} of {tensors} tensors lost half their norm",
                           expected=f"below {self.heavy:g} of the rest of the loss",
                           message="The loss's own penalty on the weights pulls them towards zero faster than the rest of the loss builds them.",
                           remedies=("divide the factor of the penalty by 100 to 10000",), explains=tuple(evidence.fact("symptoms", run=run)),
                           asks={"penalties": places})

    def _shrunk(self, evidence, run):
        """(tensors that lost half their norm, tensors)."""
        norms = [(c.values[0], c.values[-1]) for c in evidence.by_subject("weight_norm", run).values() if len(c) > 1]
        return sum(last < 0.5 * first for first, last in norms), len(norms)
