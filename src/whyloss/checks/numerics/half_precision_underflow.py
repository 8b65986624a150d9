"""Check: gradients that float16 cannot hold."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.wiring import learned


@dataclass(frozen=True)
class HalfPrecisionUnderflow(Check):
    """The step computes in float16 without a loss scale, and gradients arrive as exact zeros.

    Sees      how many operations gave float16, the loss scale at each step, the state of each gradient.
    Expects   a loss scale, or gradients that are not exactly 0.
    Means     what is below 6e-8 became 0; suspected, and confirmed if the same training in float32 ends clearly lower.
    Not for   bfloat16, a loss scale above 1, trainings that learn, gradients that are 0 in float32 too (the experiment tells).
    Source    Micikevicius et al. 2018, arXiv 1710.03740.
    """

    share: float = 0.5    # of the traced steps with an exact zero

    stage = "wiring"
    needs = (Need("half_operations"), Need("grad_state", points=3), Need("learned"))
    isolates = "half precision holds the gradients"
    causes = ("half-precision-underflow",)

    def judge(self, evidence, run):
        operations = max(evidence.series("half_operations", run=run).values)
        scales = [row["scale"] for column in evidence.by_subject("step", run).values() for row in column.values]
        if not operations or learned(evidence, run) or max(scales, default=1.0) > 1.0:
            return
        states = {name: column.values for name, column in evidence.by_subject("grad_state", run).items() if len(column) >= 3}
        zeros = {name: values.count("zero") / len(values) for name, values in states.items()}
        lost = [name for name, share in zeros.items() if share >= self.share]
        if lost:
            place = next(iter(evidence.by_subject("backward", run)), None)
            yield self.suspect("half-precision-underflow", subject=lost[0], step=0, location=place, asks={"unseen": True},
                               explains=("flat-from-start", "zero-gradients"),
                               measured=f"{operations} operations of a step give float16, no loss scale; the gradient is exactly 0 for "
                                        f"{len(lost)} of {len(zeros)} parameters ({', '.join(lost[:3])})",
                               expected="gradients above 6e-8, or a loss scale that keeps them there",
                               message=f"The gradient of {lost[0]} is below the smallest float16 number and arrives as 0.")
