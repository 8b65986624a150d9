"""The closure that an optimizer is given does not clear the gradients."""

from collections import Counter
from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.wiring import busiest


@dataclass(frozen=True)
class ClosureKeepsGradients(Check):
    """backward() inside of a closure adds to a gradient that the optimizer has already used.

    Sees      each call of the closure that step() is given: identity and value of .grad when its first backward adds to it, and whether
              the optimizer has moved the weights, or stepped, since that gradient was written.
    Expects   gradients cleared at the beginning of each call: L-BFGS calls the closure up to max_eval times in one step().
    Means     the optimizer is handed sums of gradients from many places: L-BFGS fits a curvature to them and runs away.
    Not for   closures that clear and then add up the parts of a batch or several losses; optimizers that call it once a step, where
              the gradients are cleared before step(); own optimizers that call it at several places between two clears.
    Source    PyTorch, torch.optim.LBFGS: the closure should clear the gradients, compute the loss, and return it.
    """

    calls: int = 3
    share: float = 0.2  # of the closure's calls

    stage = "wiring"
    needs = (Need("closure_step"),)
    isolates = "each call of the closure hands over its own gradient only"
    causes = ("gradients-not-cleared",)

    def judge(self, evidence, run):
        for optimizer, column in evidence.by_subject("closure_step", run).items():
            rows = column.values
            calls, old = sum(row["calls"] for row in rows), sum(row["old"] for row in rows)
            if old < self.calls or old < self.share * calls:
                continue
            first = next(o for o in column if o.value["old"])
            where = busiest(Counter(row["backward"] for row in rows if row["backward"])) or first.value["place"]
            within = [row for row in rows if row["within"]]
            often = f"calls it {calls / len(rows):.3g} times in a step: clearing once before step() is not enough." if calls > len(rows) else \
                "follows the sum of all gradients so far."
            yield self.prove(
                "gradients-not-cleared", subject=optimizer, step=first.step, location=where,
                measured=f"in {old} of {calls} calls of the closure, in {len(rows)} steps, backward added to gradients that {optimizer} had "
                         f"used already, in up to {max(row['tensors'] for row in rows)} of {first.value['held']} tensors",
                expected="0 calls that add to used gradients",
                message=f"{'The closure does not clear the gradients' if within else 'Nobody clears the gradients'}, so each backward adds to "
                        f"those before it. {optimizer} {often}",
                remedies=(f"call optimizer.zero_grad() {'inside the closure, ' if within else ''}before backward() ({where})",),
                explains=("oscillating", "diverged", "spiky", "plateau-high", "non-finite", "gradient-norm-grows"))
