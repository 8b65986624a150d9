"""Check: softmax of a single number."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.start import loss_calls, normalised_axis, size, source_of
from whyloss.checks.wiring import listed


@dataclass(frozen=True)
class SoftmaxOverOneElement(Check):
    """Softmax, or cross-entropy, over an axis of length 1.

    Sees      shape and axis of the softmax in front of the loss; the number of classes of a cross-entropy.
    Expects   at least two entries to choose from.
    Means     the softmax of one number is 1 whatever the number: the output is constant and no gradient flows.
    Not for   attention over a single key, an axis that is longer in other batches.
    Source    exp(z) / exp(z) = 1.
    """

    stage = "start"
    needs = (Need("loss"),)
    isolates = "the output can differ between inputs"
    causes = ("softmax-over-one-element",)

    def judge(self, evidence, run):
        yield from self._without_gradient(evidence, run)
        for place, call, calls in loss_calls(evidence, run):
            axis = normalised_axis(call)
            alone = call["producer"] in ("softmax", "log_softmax") and all((normalised_axis(c) or (0, 2))[1] == 1 for c in calls)
            single = call["function"] == "cross_entropy" and all(len(c["shape"]) >= 2 and c["shape"][1] == 1 for c in calls)
            if not alone and not single:
                continue
            shape = call["producer_shape"] if alone else call["shape"]
            what = call["producer"] if alone else "cross_entropy"
            yield self.prove("softmax-over-one-element", subject=what if alone else source_of(call), step=0,
                             location=(call.get("producer_place") if alone else None) or place,
                             measured=f"{what} over axis {axis[0] if alone else 1} of {size(shape)}: length 1", expected="at least 2 entries",
                             explains=("flat-from-start", "zero-gradients"),
                             message=f"{what} works on a single number, so its result is the same for every input and no gradient comes back.",
                             remedies=("one output: binary_cross_entropy_with_logits on the raw number", "or two outputs with cross_entropy"),
                             asks={"operation": what, "place": call.get("producer_place"), "loss": "binary_cross_entropy_with_logits"})

    def _without_gradient(self, evidence, run):
        """A softmax of single numbers somewhere in front of the loss, and parameters that never get a gradient but 0."""
        states = {name: set(evidence.series("grad_state", name, run).values) for name in evidence.by_subject("parameter", run)}
        idle = [name for name, state in states.items() if "zero" in state and not state - {"zero", "none"}]
        known = {call.get("producer_place") for _place, call, _calls in loss_calls(evidence, run)}
        whole = not any(state - {"zero", "none"} for state in states.values())
        if not idle or not whole and not evidence.fact("symptoms", run=run):
            return  # attention over a single key, in a training that learns
        for place, column in evidence.by_subject("normalised_over", run).items():
            rows = column.values
            if place in known or not all(row["shape"] and row["shape"][row["dim"]] == 1 for row in rows):
                continue
            row = rows[0]
            yield self.prove("softmax-over-one-element", subject=row["function"], step=0, location=place,
                             measured=f"{row['function']} over axis {row['dim']} of {size(row['shape'])}: length 1; "
                                      + ("every gradient is" if whole else f"the gradients of {listed(idle)} are") + " exactly 0",
                             expected="at least 2 entries", explains=("flat-from-start", "zero-gradients"),
                             message=f"{row['function']} works on a single number: its result is the same for every input, no gradient comes back.",
                             remedies=("one output: binary_cross_entropy_with_logits on the raw number", "or name the axis of the classes: dim=-1"))
