"""Check: an axis that is not what the layer takes it for."""

import re
from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.start import size

_READERS = ("Conv1d", "RNN", "GRU", "LSTM")
_SAID = {
    "order": "use permute or transpose: {before} to {after} by {operation} leaves every entry where it was and gives it to another axis",
    "batch": "use permute or transpose: {before} to {after} by {operation} leaves every entry where it was and gives it to another axis",
    "heads split": "split the last axis first, then swap: x.view(rows, length, heads, -1).transpose(1, 2)",
    "heads joined": "swap first, then join: x.transpose(1, 2).reshape(rows, length, -1)",
}


@dataclass(frozen=True)
class AxesTransposed(Check):
    """Sizes fit and the axes do not: a reshape stands where a permute was meant, or a layer reads along the wrong axis.

    Sees      reshapes on the way to the loss, by the shapes before and after; what the first convolution or recurrent layer is fed.
    Expects   a reshape that keeps each axis it names; a layer that gets (batch, channels, length), or (batch, length, features).
    Means     each new row holds pieces of several old ones; or the layer looks for structure along the wrong axis (a suspicion: with the two
              axes exchanged in front of it, a copy must reach less than half the loss).
    Not for   reshapes that are undone later (groups), equal sizes, a reshape that splits or joins neighbouring axes; trainings that learn well;
              a layer that reads at least as many places as features.
    Source    torch.reshape keeps the order of entries; PyTorch documentation of each layer, the shape section.
    """

    well: float = 0.8  # of the way to the floor

    stage = "start"
    needs = (Need("loss"),)
    isolates = "each axis is what the layer takes it for"
    causes = ("axes-transposed",)

    def judge(self, evidence, run):
        proven = list(self._reshapes(evidence, run))
        yield from proven
        if not proven:
            yield from self._readers(evidence, run)

    def _reshapes(self, evidence, run):
        fed = [row["shape"] for column in evidence.by_subject("input", run).values() for row in column.values if "shape" in row]
        for place, column in evidence.by_subject("axis_lost", run).items():
            fact = column.values[0]
            if fact["kind"] == "samples":
                continue  # samples-mixed
            if fact["kind"] == "batch" and not any(shape[1:] == fact["after"][1:] for shape in fed):
                continue
            before, after = size(fact["before"]), size(fact["after"])
            yield self.prove("axes-transposed", subject=fact["module"] or "input", step=column.steps[0], location=place,
                             measured=f"{fact['operation']}: {before} to {after}", expected="the axes exchanged by permute or transpose",
                             message=f"{fact['operation']} turns {before} into {after} without moving an entry: each new row holds pieces of several "
                                     f"old ones.",
                             remedies=(_SAID[fact["kind"]].format(before=before, after=after, operation=fact["operation"]),))

    def _readers(self, evidence, run):
        progress = evidence.fact("learned", run=run)
        if not progress or progress["learned"] and progress.get("share", 1.0) > self.well:
            return
        if progress.get("share", 1.0) < -1 or {"non-finite", "diverged"} & set(evidence.fact("symptoms", run=run) or ()):
            return  # any change of the input's scale or length can tame such a run
        fed = [row["shape"] for column in evidence.by_subject("input", run).values() for row in column.values[:1] if row.get("floating")]
        for name, column in evidence.by_subject("layer", run).items():
            layer = column.values[-1]
            given = [int(n) for n in re.findall(r"\d+", (re.findall(r"\(([^)]*)\)", layer["in"]) or [""])[0])]
            if layer["kind"] not in _READERS or len(given) != 3 or not any(sorted(shape) == sorted(given) for shape in fed):
                continue
            length, features = (given[2], given[1]) if layer["kind"] == "Conv1d" else (given[1], given[2])
            if features < length:
                continue  # as it should be: and a layer that is given a whole series as features always learns faster
            where = next(iter(evidence.by_subject("root", run)), None)
            yield self.suspect("axes-transposed", subject=name, step=0, location=where, asks={"module": name, "unseen": True},
                               measured=f"{name} ({layer['kind']}) reads {size(given)}",
                               expected=f"{size([given[0], given[2], given[1]])}, in which it learns more",
                               message=f"{name} looks for structure along the wrong axis of {size(given)}: with the two axes exchanged it learns far "
                                       f"more from the same samples.",
                               remedies=(f"give {name} its input with the two axes exchanged: x.transpose(1, 2)",))
            return
