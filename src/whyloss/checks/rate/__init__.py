"""Checks of the stage `rate`."""


def without_scale(evidence, run: str) -> bool:
    """A loss of no known function that takes both signs: a policy gradient, a score. Lower is not better there, so no curve judges a rate."""
    values = evidence.series("loss", run=run).finite().values
    known = any(o.value.get("counts") for column in evidence.by_subject("loss_call", run).values() for o in column)
    return not known and bool(values) and min(values) < 0 < max(values)
