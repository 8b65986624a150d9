"""Training and validation number the classes differently."""

from dataclasses import dataclass

from whyloss.check import Check, Need

EVEN, ODD = 2, 3   # columns of a confusion row: predicted, label, and its counts in two halves of the rows


@dataclass(frozen=True)
class LabelMapsDiffer(Check):
    """A class id means one class in training and another one in validation.

    Sees      maps from class names to ids that two data sets of one kind hold; which label stood beside which predicted class in the last
              evaluation, its rows in two halves.
    Expects   one map; the label beside a predicted class to be that class, where training is right.
    Means     the lists of classes were made separately (unsorted listings, sets), or ids were shifted in one of them. It looks like overfitting.
    Not for   a model that is wrong in many ways (no one-to-one renaming helps on the other half), a training that is not right itself.
    Source    data sets made from folders sort class names for this reason; the renaming found on one half of the rows is tried on the other.
    """

    gain: float = 0.3     # share right that the renaming must add
    right: float = 0.6    # share right after renaming
    rows: int = 40

    stage = "data"
    needs = (Need("totals"),)
    isolates = "a class id means the same everywhere"
    causes = ("label-maps-differ",)

    def judge(self, evidence, run):
        table = next(((where, column) for where, column in evidence.by_subject("confusion", run).items()), None)
        for subject, column in evidence.by_subject("class_maps", run).items():
            row = column.last.value
            yield self.prove(
                "label-maps-differ", subject=subject, step=table[1].last.step if table else None, location=table[0] if table else None,
                measured=f"{row['differing']} of {row['names']} names have another id: {row['example']!r} is {row['first']} in one data set and "
                         f"{row['second']} in another", expected="one map from names to ids",
                message="Two data sets number the same classes differently, so a right prediction counts as wrong.",
                remedies=("sort the class names, or give the validation set the map of the training set",), explains=("validation-worse",))
            return
        for where, column in evidence.by_subject("confusion", run).items():
            found = self._renamed(column.last.value)
            accuracy = evidence.series("accuracy", run=run)
            if found is None or not accuracy or accuracy.array()[-5:].mean() < self.right:
                continue
            before, after, names = found
            yield self.suspect(
                "label-maps-differ", subject="labels", step=column.last.step, location=where,
                measured=f"{before:.0%} right in validation, {after:.0%} of the other half of the rows with classes renamed ({names})",
                expected="training and validation with one numbering of the classes",
                message="The model tells the classes apart in validation, but under other numbers than in training.",
                remedies=("sort the class names, or share one map between the data sets", f"compare the labels' origin with training ({where})"),
                asks={"before": 1 - before, "after": 1 - after}, explains=("validation-worse", "overfitting"))
            return

    def _renamed(self, rows):
        """(share right, share right on the second half under the renaming found on the first, the renaming) if that explains the errors."""
        classes = sorted({row[0] for row in rows})
        held = sum(row[ODD] for row in rows)
        if held < self.rows / 2 or len(classes) < 2:
            return None
        name = {}
        for predicted in classes:
            own = [row for row in rows if row[0] == predicted and row[EVEN]]
            if own:
                name[predicted] = max(own, key=lambda row: row[EVEN])[1]
        changed = {p: t for p, t in name.items() if p != t}
        if len(set(name.values())) < len(name) or not changed:
            return None
        before = sum(row[ODD] for row in rows if row[0] == row[1]) / held
        after = sum(row[ODD] for row in rows if name.get(row[0]) == row[1]) / held
        if after < self.right or after < before + self.gain:
            return None
        return before, after, ", ".join(f"{p} is {t}" for p, t in list(changed.items())[:3])
