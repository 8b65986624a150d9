"""Gradients of earlier steps are still there."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.wiring import busiest, calls


@dataclass(frozen=True)
class GradientsNotCleared(Check):
    """A step uses gradients that an earlier step has already used.

    Sees      identity and value of .grad: used by a step, still there and not zero when the next backward adds to it;
              or left there by the backward of another loss, on which another optimizer stepped.
    Expects   gradients cleared between the step that used them and the next backward.
    Means     each step follows the sum of old gradients; SGD oscillates or diverges, Adam learns worse.
    Not for   accumulation (several backwards, one step, then a clear), GANs whose gradients are cleared before use.
    Source    PyTorch, "Zeroing out gradients"; taint rule, 23 of 23 faults and no false alarm in 18 healthy loops.
    """

    steps: int = 3
    share: float = 0.2  # of the optimizer's steps

    stage = "wiring"
    needs = (Need("step", points=3),)
    isolates = "each step uses gradients of its own batches only"
    causes = ("gradients-not-cleared",)

    def judge(self, evidence, run):
        for optimizer, column in evidence.by_subject("step", run).items():
            bad = [o for o in column if o.value["tainted"]]
            if len(bad) < self.steps or len(bad) < self.share * len(column):
                continue
            clears = calls(evidence, "zero", run)
            where = busiest(calls(evidence, "backward", run)) or bad[0].value["place"]
            yield self.prove(
                "gradients-not-cleared", subject=optimizer, step=bad[0].step, location=where,
                measured=f"{len(bad)} of {len(column)} steps used old gradients in {bad[0].value['tainted']} of "
                         f"{bad[0].value['held']} tensors; zero_grad() was called {clears.total()} times",
                expected="0 steps with gradients that an earlier step has used",
                message="The gradients of earlier steps are still there when backward() adds the new ones, so each "
                        "step follows the sum of all gradients so far.",
                remedies=(f"call optimizer.zero_grad() before backward() in every iteration ({where})",),
                explains=("oscillating", "diverged", "spiky", "plateau-high", "gradient-norm-grows"))
        yield from self._of_another_loss(evidence, run)

    def _of_another_loss(self, evidence, run):
        """A backward of another optimizer's loss went through these parameters, and nobody cleared them."""
        for optimizer, column in evidence.by_subject("step", run).items():
            followed = [o for o in column if "leftover" in o.value]
            bad = [o for o in followed if o.value["leftover"]]
            if len(bad) < self.steps or len(bad) < 0.5 * len(followed):
                continue
            place = bad[0].value["place"]
            yield self.prove(
                "gradients-not-cleared", subject=optimizer, step=bad[0].step, location=place,
                measured=f"in {len(bad)} of {len(followed)} steps looked at, {bad[0].value['leftover']} of {bad[0].value['held']} tensors of "
                         f"{optimizer} still held the gradient of a loss that another optimizer had stepped on",
                expected="gradients of its own loss only",
                message=f"The backward of another loss also fills the gradients of {optimizer}'s tensors; they are still there when its own "
                        "backward adds to them, so it follows the sum of both losses.",
                remedies=(f"call {optimizer}'s zero_grad() before the backward of its own loss, not after its step ({place})",
                          "or switch requires_grad off on these tensors while the other loss is differentiated"),
                explains=("oscillating", "plateau-high", "not-a-loss-curve"))
            return
