"""The number shown is not what it claims."""

from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class MetricWrong(Check):
    """A prediction is compared with the labels in a way that cannot give the score.

    Sees      each comparison of something computed from the model's output with something that is not: both shapes, the result's shape, how the
              prediction was made (argmax over which axis of which size, threshold, rounding), its range.
    Expects   one comparison per label; argmax over the classes; a threshold inside the range of what it is applied to.
    Means     (N,) beside (N, 1) compares every pair; argmax over an axis of one element is always 0; a sigmoid is always above 0;
              rounded logits are no labels; raw outputs never equal a label. The training may be sound.
    Not for   comparisons of labels with labels (contrastive masks), (1, N) beside (M, 1) on purpose, top-k against (N, 1), predictions kept in
              NumPy from the start.
    Source    broadcasting rules of torch; follows from shapes and ranges, no statistics.
    """

    comparisons: int = 3   # with raw outputs, none of them equal

    stage = "generalisation"
    needs = (Need("comparison"),)
    isolates = "the score counts what it claims to count"
    causes = ("metric-wrong",)

    def judge(self, evidence, run):
        for where, column in evidence.by_subject("comparison", run).items():
            rows = column.values
            found = next((text for row in rows if (text := self._wrong(row))), None) or self._raw(rows)
            if found:
                yield self._finding(where, column.first.step, *found)
                return
        for where, column in evidence.by_subject("prediction_left", run).items():
            found = self._one_element(column.first.value)
            if found and len(column.first.value["prediction"]) == 1 and len(column.first.value["made"]["of"]) == 2:
                yield self._finding(where, column.first.step, *found)
                return

    def _wrong(self, row):
        return self._pairs(row) or self._one_element(row) or self._constant(row)

    @staticmethod
    def _pairs(row):
        size = {key: _size(row[key]) for key in ("prediction", "target", "result")}
        if row["explicit"] or size["result"] <= max(size["prediction"], size["target"]) or row["prediction"][:1] != row["target"][:1]:
            return None
        shapes = f"{tuple(row['prediction'])} with {tuple(row['target'])}"
        return (f"comparing {shapes} gives {tuple(row['result'])}: {size['result']} comparisons for {size['target']} labels",
                "one comparison per label", "Prediction and label broadcast against each other, so every prediction is compared with every label.",
                "give both the same shape (squeeze or unsqueeze one of them) before comparing")

    @staticmethod
    def _one_element(row):
        made = row["made"]
        if made.get("by") not in ("argmax", "max", "argmin") or made["size"] != 1 or made["of"][0] < 2:
            return None
        return (f"{made['by']} over axis {made['axis']} of {tuple(made['of'])}, which has one element: always 0", "argmax over the classes",
                "The index of the largest of one number is always 0, so the prediction does not depend on the model.",
                "for a single logit compare it with a threshold: logit > 0")

    @staticmethod
    def _constant(row):
        made = row["made"]
        if made.get("by") == "threshold" and made.get("unit") and not 0 < made["bound"] < 1:
            return (f"a probability compared with {made['bound']:g}", "a threshold between 0 and 1",
                    "A sigmoid lies between 0 and 1, so this comparison always has the same answer.", "use 0.5 for probabilities, 0 for logits")
        beyond = row["low"] < row["target_low"] or row["high"] > row["target_high"]
        if made.get("by") == "round" and not made.get("unit") and (row["target_low"], row["target_high"]) == (0, 1) and beyond:
            return (f"rounded predictions from {row['low']:g} to {row['high']:g} compared with labels 0 and 1", "predictions 0 or 1",
                    "Logits are rounded as if they were probabilities.", "apply sigmoid before rounding, or compare the logit with 0")
        return None

    def _raw(self, rows):
        raw = [row for row in rows if row["floating"] and not row["whole"] and not row["made"] and row["equal"] == 0
               and row["target_low"] == int(row["target_low"]) and row["target_high"] == int(row["target_high"])]
        if len(raw) < self.comparisons or len(raw) < len(rows):
            return None
        return (f"{len(raw)} comparisons of raw outputs with labels, none of them equal", "predicted classes compared with labels",
                "A raw output is never exactly a label, so the score is always 0.", "take argmax, or a threshold, before comparing")

    def _finding(self, where, step, measured, expected, message, remedy):
        return self.prove("metric-wrong", subject="metric", step=step, location=where, measured=measured, expected=expected, message=message,
                          remedies=(remedy,), explains=("accuracy-impossible", "accuracy-constant"))


def _size(shape) -> int:
    size = 1
    for length in shape:
        size *= length
    return size
