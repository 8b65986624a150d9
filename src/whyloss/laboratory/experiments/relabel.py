"""Validation labels under the numbering that the predictions speak for."""

from whyloss.errors import CannotReplay
from whyloss.laboratory.lab import experiment


@experiment("relabel-validation")
def relabel_validation(lab, asks):
    """The renaming was found on one half of the evaluated rows; its share of errors is that of the other half (asks: before, after)."""
    if "after" not in asks:
        raise CannotReplay("no renaming of the classes was found")
    before, after = float(asks["before"]), float(asks["after"])
    lab.evidence.add("shown", after < 0.7 * before, run="relabel-validation")
    return {"experiment": "relabel-validation", "change": "share of errors with the classes renamed, on rows not used to find the names",
            "before": before, "after": after, "control": [before], "changed": [after], "steps": 1}
