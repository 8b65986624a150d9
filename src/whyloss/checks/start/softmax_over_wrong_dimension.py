"""Check: an output normalised over the batch or another axis, not over the classes."""

from dataclasses import dataclass
from statistics import median

from whyloss.check import Check, Need
from whyloss.checks.start import CLASSES, losses, normalised_axis, size, source_of


@dataclass(frozen=True)
class SoftmaxOverWrongDimension(Check):
    """The softmax in front of the loss normalises over an axis that is not the classes.

    Sees      axis and shape of the (log-)softmax that made the loss function's input; the sums over the classes.
    Expects   sums of 1 over the classes.
    Means     the samples of a batch compete with each other: the first loss is the log of the batch size.
    Not for   contrastive losses (both axes are meant there), attention over keys, routing over tokens inside the model.
    Source    PyTorch documentation, softmax; measured first loss log 64 = 4.16 for batches of 64.
    """

    tolerance: float = 0.02

    stage = "start"
    needs = (Need("loss"),)
    isolates = "the output is normalised over the classes"
    causes = ("softmax-over-wrong-dimension",)

    def judge(self, evidence, run):
        for place, call, calls in losses(evidence, run):
            axis = normalised_axis(call)
            shape = call["shape"]
            if call["function"] not in CLASSES or call["producer"] not in ("softmax", "log_softmax"):
                continue
            if axis is None or len(shape) < 2 or call.get("diagonal"):
                continue
            if call.get("written") and len(shape) != 2:
                continue  # written by hand, the classes of a sequence stand in whatever axis the picking names
            same = call["producer_shape"] == shape
            key = "exp_row_sum_error" if call["producer"] == "log_softmax" else "row_sum_error"
            error = median(c.get(key, 0.0) for c in calls[:8])
            if axis[1] < 2 or error < self.tolerance or (axis[0] == 1 if same else axis[1] == shape[1]) or shape[0] == shape[1]:
                continue
            meant = 1 if same else len(call["producer_shape"]) - 1
            yield self.prove("softmax-over-wrong-dimension", subject=call["producer"], step=0, location=call.get("producer_place") or place,
                             measured=f"{call['producer']} over axis {axis[0]} (length {axis[1]}) of {size(call['producer_shape'])}; "
                                      f"sums over the {shape[1]} classes are off by {error:.2g}",
                             expected=f"normalised over axis {meant}, the classes", explains=("plateau-high", "flat-from-start"),
                             message=f"{source_of(call)} normalises over axis {axis[0]}, so samples compete with each other instead of classes.",
                             remedies=(f"{call['producer']}(..., dim={meant})",),
                             asks={"operation": call["producer"], "place": call.get("producer_place"), "dim": meant})
