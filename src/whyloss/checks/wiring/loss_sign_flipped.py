"""The objective is maximised."""

import math
from dataclasses import dataclass
from statistics import median

from whyloss.check import Check, Need
from whyloss.checks.wiring import calls, stepping


@dataclass(frozen=True)
class LossSignFlipped(Check):
    """A loss that should fall is made to rise.

    Sees      maximize and the sign of the rate in each optimizer; loss functions called and the value differentiated; a
              log-softmax in front of a loss that starts at minus the value of a guess; a loss written by hand that is below 0
              from the start and falls to a multiple of that; the angle between each of the first updates and the gradient it
              was given, whoever made the update.
    Expects   a loss function's value differentiated with its own sign.
    Means     maximize=True, a negative rate, or a minus sign too many (or too few, on log-probabilities).
    Not for   rewards that are maximised, adversarial losses, likelihoods of continuous values, cosine similarities.
    Source    definition of descent; a guess costs log C, so minus log C at the start is its negative.
    """

    points: int = 10
    near: float = 0.5  # of log C
    uphill: float = 0.1  # cosine of an update with the gradient
    risen: float = 2.0  # times the first loss
    sunk: float = 4.0   # times a first loss below 0

    stage = "wiring"
    needs = (Need("loss", "run", points=10),)
    isolates = "the loss is minimised"
    causes = ("loss-sign-flipped",)

    def judge(self, evidence, run):
        losses = evidence.series("loss", run=run).finite().values or [math.nan]
        first, last = losses[0], median(losses[-max(1, len(losses) // 10):])
        known = {where: column.first.value for where, column in evidence.by_subject("loss_call", run).items()
                 if column.first.value["counts"]}
        one_loss = len(calls(evidence, "backward", run)) == 1
        made = next(iter(evidence.by_subject("loss_made", run)), None)
        climbs = list(self._ascending(evidence, run, known, first, last))
        yield from climbs
        if one_loss and not climbs:
            yield from self._by_hand(evidence, run, known, losses, last)
        for where, row in known.items():
            value = row["value"] or 0
            if one_loss and first < 0 < value and abs(first + value) < 1e-4 * value:
                yield self._negative(where, f"{row['function']} gives {value:.4g}, backward gets {first:.4g}", row["function"])
                return
        if not known and one_loss and first < 0 and last < 3 * first:
            for where, column in evidence.by_subject("normalised_over", run).items():
                row = column.first.value
                chance = math.log(max(2, row["shape"][row["dim"]]))
                if row["function"] == "log_softmax" and abs(first + chance) < self.near * chance:
                    yield self._negative(made or where, f"loss {first:.4g} at the start, which is minus the {chance:.3g} "
                                         f"of a guess, and {last:.4g} at the end", "log_softmax")
                    return
        if not known and one_loss and max(losses) < 0 and last < self.sunk * first:
            # a log-density, a reward or a critic's score may fall like that too: turned round it has no lower bound, or no labels
            yield self._negative(made, f"the loss is {first:.4g} at the start and {last:.4g} at the end, below 0 throughout", "loss",
                                 asks={"bottomless": True, "unseen": True})

    def _ascending(self, evidence, run, known, first, last):
        active = stepping(evidence, run)
        for optimizer, facts in active.items():
            upward = [g for g in facts["groups"] if g.get("maximize") or (g.get("lr") or 0) < 0]
            if len(active) == 1 and upward and len(upward) == len(facts["groups"]) and known and not last < first:
                row = next(iter(known.values()))
                what = "maximize=True" if upward[0].get("maximize") else f"a learning rate of {upward[0]['lr']:g}"
                yield self.prove(
                    "loss-sign-flipped", subject=optimizer, step=0, location=facts["place"],
                    measured=f"{optimizer} has {what}; {row['function']} rises from {first:.4g} to {last:.4g}",
                    expected="a falling loss",
                    message=f"{optimizer} is told to climb: {what}, with a loss that should fall.",
                    remedies=(f"take {what} out ({facts['place']})",),
                    explains=("diverged", "non-finite", "plateau-high"))
                return

    def _by_hand(self, evidence, run, known, losses, last):
        """Updates of the loop's own along the gradient. A reward is climbed so too: it must be positive, rise, and use labels (the tape says)."""
        angles = evidence.series("update_direction", run=run).values
        if len(angles) < 2 or min(angles[0], median(angles)) < self.uphill or stepping(evidence, run):
            return
        if min(losses) < 0 or not last > self.risen * losses[0]:
            return
        where = next(iter(calls(evidence, "backward", run)), None)
        yield self.suspect("loss-sign-flipped", subject="update", step=0, location=where, asks={"uphill": True, "known": bool(known)},
                           measured=f"the first update points along the gradient (cosine {angles[0]:.2f}); the loss rises from {losses[0]:.4g} to "
                                    f"{last:.4g}",
                           expected="an update against the gradient",
                           message="The loop's own update adds the gradient where it should subtract it: each step goes uphill.",
                           remedies=("subtract: p -= rate * p.grad",), explains=("diverged", "non-finite", "plateau-high"))

    def _negative(self, where, measured, subject, asks=None):
        return self.suspect(
            "loss-sign-flipped", subject=subject, step=0, location=where, measured=measured, asks=asks or {},
            expected="a loss of 0 or more",
            message="The negative of a loss is minimised: it falls without bound while the predictions get worse.",
            remedies=(f"turn the sign of the loss ({where})",), explains=("diverged", "metric-does-not-follow-loss"))
