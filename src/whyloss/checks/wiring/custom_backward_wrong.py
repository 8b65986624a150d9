"""A hand-written backward that is not the derivative of its forward."""

from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class CustomBackwardWrong(Check):
    """A torch.autograd.Function of the user's own takes part in the training: does its backward fit its forward?

    Sees      which functions with a hand-written backward are called on the way to the loss; the experiment then
              compares backward(2g) with 2 backward(g), and the slope with finite differences of forward, in float64.
    Expects   backward is linear in what comes in, and agrees with forward along random directions.
    Means     the incoming gradient is not multiplied in, or a factor, a term or a sign is wrong.
    Not for   straight-through estimators and surrogates (a forward with jumps), functions that hand on their input and
              change the gradient on purpose (reversal, scaling, clipping).
    Source    torch.autograd.gradcheck: finite differences in float64.
    """

    most: int = 4  # functions that are tried

    stage = "wiring"
    needs = (Need("custom_function"),)
    isolates = "hand-written derivatives are right"
    causes = ("custom-backward-wrong",)

    def judge(self, evidence, run):
        for name, column in list(evidence.by_subject("custom_function", run).items())[:self.most]:
            row = column.first.value
            yield self.suspect(
                "custom-backward-wrong", subject=name, step=0, location=row["line"],
                measured=f"{name}.backward is hand-written, called at {row['called']}",
                expected="backward(2g) = 2 backward(g), and agreement with finite differences",
                message=f"{name}.backward gives another gradient than its forward has: all in front of it is led astray.",
                remedies=(f"multiply the incoming gradient by the derivative of forward, and compare with torch.autograd.gradcheck ({row['line']})",
                          "or leave the derivative to autograd"),
                explains=("plateau-high", "diverged"), asks={"function": name, "unseen": True})
