"""New values are computed and the model keeps the old ones."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.wiring import busiest, calls, listed, moved, optimizers, parameters, total


@dataclass(frozen=True)
class UpdateDoesNotLand(Check):
    """An update is computed, and the values of the parameters never change.

    Sees      lines that read .grad, write to a parameter in place or call autograd.grad, optimizer steps with their rate, and the
              parameters' values.
    Expects   values that differ from one backward to the next.
    Means     `w = w - lr * g` bound a new name, a result was dropped, or a copy was updated. Where the values were written in place and
              stayed what they were, the learning rate is 0.
    Not for   no update written at all, an optimizer's learning rate of 0 or below the number format, half precision.
    Source    PyTorch, in-place semantics; values compared before and after.
    """

    backwards: int = 3
    smallest_rate: float = 1e-6  # below it an update can vanish in float32

    stage = "wiring"
    needs = (Need("totals"),)
    isolates = "updates reach the parameters"
    causes = ("update-does-not-land", "learning-rate-zero")

    def judge(self, evidence, run):
        yield from self._functional(evidence, run)
        trained = [(name, row) for name, row in parameters(evidence, run) if row["reached"] and row["requires_grad"]]
        # an input that wants a gradient, made anew in each step, is no parameter
        trained = [pair for pair in trained if pair[1].get("in_model")] or [pair for pair in trained if "changed" in pair[1]]
        still = [name for name, row in trained if not moved(evidence, name, row, run)]
        if not still or total(evidence, "backward", run) < self.backwards:
            return
        readers = calls(evidence, "read_grad", run)
        if readers and not optimizers(evidence, run) and len(still) == len(trained):
            where, writers = busiest(readers), calls(evidence, "write_parameter", run)
            written, slopes = sum(writers.values()), [v for name in still for v in evidence.series("grad_norm", name, run).values]
            if written >= self.backwards * len(still) and slopes and min(slopes) > 0:
                yield self._zero(still, busiest(writers), written)
            else:
                yield self._prove(still, where, f"{readers[where]} gradients read at {where}, {len(still)} tensors, max |dw| = 0")
        elif self._used(evidence, run) >= self.backwards and self._rates(evidence, run) >= self.smallest_rate:
            stuck = [name for name, row in trained if name in still and row["held"]
                     and row["dtype"] in ("float32", "float64")
                     and min(evidence.series("grad_norm", name, run).values, default=0) > 0]
            if stuck and len(stuck) == sum(row["held"] for _, row in trained):
                where = busiest(calls(evidence, "step", run))
                yield self._prove(stuck, where, f"{total(evidence, 'optimizer_steps', run)} steps, max |dw| = 0")

    def _functional(self, evidence, run):
        """Loops without backward(): autograd.grad is given the same values at every call."""
        if self._used(evidence, run) and any(moved(evidence, name, row, run) for name, row in parameters(evidence, run) if row["held"]):
            return  # something else is trained through it, from the same start again and again: a learned optimizer, say
        for where, column in evidence.by_subject("functional_grad", run).items():
            later = [row["moved"] for row in column.values[1:]]
            if len(later) >= self.backwards and not any(later):
                yield self._prove(column.first.value["names"], where,
                                  f"{calls(evidence, 'autograd.grad', run)[where]} gradients taken at the same values")

    def _used(self, evidence, run) -> int:
        """Optimizer steps that found a gradient."""
        return sum(row["norm"] > 0 for column in evidence.by_subject("step", run).values() for row in column.values)

    def _rates(self, evidence, run) -> float:
        return min((max(column.values) for column in evidence.by_subject("learning_rate", run).values()), default=0.0)

    def _zero(self, names, where, written):
        """The values are written in place, and stay what they were: the step has no length."""
        return self.prove(
            "learning-rate-zero", subject=names[0], step=0, location=where,
            measured=f"{written} updates written in place ({where}) to {len(names)} tensors, whose gradients are not 0; max |dw| = 0",
            expected="a step of some length", message="The updates are written where they belong and are 0: the learning rate is.",
            remedies=(f"give the update a rate above 0; an integer division gives 0 ({where})",),
            explains=("flat-from-start", "parameters-unchanged"))

    def _prove(self, names, where, measured):
        return self.prove(
            "update-does-not-land", subject=names[0] if names else None, step=0, location=where, measured=measured,
            expected="other values at the next gradient",
            message=f"An update is computed, but {listed(list(names), 2)} keep their values: the result is "
                    "bound to a new "
                    "name, dropped, or written to a copy.",
            remedies=(f"write the update in place under torch.no_grad(): w -= lr * w.grad ({where})",
                      "or use an optimizer of torch.optim"),
            explains=("flat-from-start", "parameters-unchanged"))
