"""An overlap of areas, or a score counted elsewhere, whose prediction does not depend on the model."""

from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class OverlapWrong(Check):
    """A predicted mask is put together with the true one in a way that cannot give their overlap.

    Sees      each "and", "or" and product of a predicted mask with something no model made, each prediction handed to NumPy: shapes,
              how the prediction was made (argmax over which axis of which size, then perhaps one class of it), its range.
    Expects   a mask from a threshold for one score a pixel, argmax over the classes for several; one entry of the result per label.
    Means     argmax over an axis of one element is 0 everywhere, so IoU and Dice stay at 0 (or at the background's share) whatever the
              model says; (N, H, W) beside (N, 1, H, W) overlaps every picture with every other. The training may be sound.
    Not for   products on the way to the loss, masks of other sizes on purpose, predictions kept in NumPy from the start.
    Source    the largest of one number has index 0; broadcasting rules of torch. Follows from shapes and values, no statistics.
    """

    stage = "generalisation"
    needs = (Need("prediction_used"),)
    isolates = "the overlap counts what it claims to count"
    causes = ("metric-wrong",)

    def judge(self, evidence, run):
        for where, column in evidence.by_subject("prediction_used", run).items():
            found = self._one_element(column.values) or self._pairs(column.values)
            if found:
                place, measured, expected, message, remedy = found
                yield self.prove("metric-wrong", subject="metric", step=column.first.step, location=place or where, measured=measured,
                                 expected=expected, message=message, remedies=(remedy,), explains=("accuracy-impossible", "accuracy-constant"))
                return

    @staticmethod
    def _one_element(rows):
        made = rows[0]["made"]
        if made.get("by") not in ("argmax", "argmin", "max") or made["size"] != 1 or made["of"][0] < 2:
            return None
        if any(row["made"].get("size") != 1 or not row["low"] == row["high"] in (0, 1) for row in rows):
            return None  # the largest value itself, not its index
        return (made.get("place"), f"{made['by']} over axis {made['axis']} of {tuple(made['of'])}, which has one element: always 0",
                "a threshold for one score a place", "The index of the largest of one number is always 0, so the predicted mask does not depend "
                "on the model.", "for a single logit compare it with a threshold: logit > 0 (or sigmoid(logit) > 0.5)")

    @staticmethod
    def _pairs(rows):
        for row in rows:
            if row["how"] != "overlap" or not row["counts"] or row["explicit"] or row["prediction"][:1] != row["target"][:1]:
                continue
            sizes = [_size(row[key]) for key in ("prediction", "target", "result")]
            if sizes[2] > max(sizes[:2]):
                return (None, f"{tuple(row['prediction'])} with {tuple(row['target'])} gives {tuple(row['result'])}: {sizes[2]} entries for "
                        f"{sizes[1]} labels", "one entry per label",
                        "Prediction and truth broadcast against each other, so each predicted mask is overlapped with the masks of all samples.",
                        "give both the same shape (squeeze or unsqueeze one of them)")
        return None


def _size(shape) -> int:
    size = 1
    for length in shape:
        size *= length
    return size
