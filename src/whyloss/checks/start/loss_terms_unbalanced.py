"""Check: one term of the loss stands still while another one takes all the gradient."""

from dataclasses import dataclass
from statistics import median

from whyloss.check import Check, Need


@dataclass(frozen=True)
class LossTermsUnbalanced(Check):
    """Of several terms that the loss is a sum of, one falls and one that holds a task does not move.

    Sees      the value of each term in the traced steps; which of them compare something with targets.
    Expects   every task among the terms to fall.
    Means     suspected: one term's gradient drowns the other's. Confirmed if the other falls once their gradients are of one size.
    Not for   regularisers (no target), a term that is at its floor already, adversarial terms, terms whose gradients are of one size.
    Source    Bowman et al. 2016 (posterior collapse under a heavy KL term); Chen et al. 2018 (GradNorm).
    """

    still: float = 0.1   # of its value a quarter into the run: a term that fell by less since then stands still
    fell: float = 0.3    # of its start: the heavy term

    stage = "start"
    needs = (Need("loss_term", points=8),)
    isolates = "every term of the loss is heard"
    causes = ("loss-terms-unbalanced",)

    def judge(self, evidence, run):
        rows = []
        for subject, column in evidence.by_subject("loss_term", run).items():
            # as they enter the loss: a KL term is often written as -0.5 times a sum below 0
            values = [row["value"] * row.get("factor", 1.0) for row in column.values if row["value"] == row["value"]]
            if len(values) >= 8:
                start, end, middle = median(values[:3]), median(values[-3:]), median(values[len(values) // 4:len(values) // 2])
                fell = (start - end) / max(abs(start), 1e-12), (middle - end) / max(abs(middle), 1e-12)
                rows.append((subject, column.values[0], start, end, *fell, middle))
        # a term that ends above its start is one that the others push up, as a KL term does when the code begins to be used
        flat = [r for r in rows if r[1]["target"] and r[5] < self.still and r[3] < r[2] + 0.1 * abs(r[2])]
        heavy = [r for r in rows if r[4] > self.fell]
        if not flat or not heavy:
            return
        one = min(flat, key=lambda r: r[4])
        other = max((r for r in heavy if r[0] != one[0]), key=lambda r: r[4], default=None)
        if other is None:
            return
        yield self.suspect("loss-terms-unbalanced", subject=other[1]["operation"], step=0, location=other[1]["place"],
                           measured=f"the term at {other[1]['place']} goes from {other[2]:.4g} to {other[3]:.4g}, "
                                    f"the one at {one[1]['place']} stays where it was a quarter into the run: {one[6]:.4g} to {one[3]:.4g}",
                           expected="both fall", explains=("plateau-high", "flat-from-start"),
                           message=f"The term at {other[1]['place']} takes all the gradient; the one at {one[1]['place']} is not learned.",
                           remedies=("weight the terms so that their gradients have comparable norms", "warm a KL weight up from 0, or lower it"),
                           asks={"flat": one[1]["place"], "heavy": other[1]["place"], "unseen": True})
