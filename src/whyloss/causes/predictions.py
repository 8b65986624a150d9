"""What an experiment must show when it has no control arm: it writes one fact, `shown`, and the cause reads it.

Experiments with two arms are read by `whyloss.cause.remedy_wins`, the default of every Prediction.
"""

from whyloss.cause import remedy_wins, tail
from whyloss.evidence import Evidence

NEARLY_THERE = 0.9   # of the way to the floor


def shown(evidence: Evidence, run: str) -> bool:
    """True if the experiment recorded that the dependence (or independence) it looks for is there."""
    return bool(evidence.fact("shown", run=run, default=False))


def halves(evidence: Evidence, run: str) -> bool:
    """True if the changed arm wins and ends at less than half of where the unchanged one ends."""
    control, changed = evidence.series("loss", run=f"{run}/control").array(), evidence.series("loss", run=f"{run}/changed").array()
    return remedy_wins(evidence, run, share=0.5) and tail(changed) < 0.5 * tail(control)


def wins_a_little(evidence: Evidence, run: str) -> bool:
    """True if the changed arm wins by an eighth: for experiments that act only where a test with a null distribution has spoken before."""
    return remedy_wins(evidence, run, share=0.125)


def shown_or_wins_a_little(evidence: Evidence, run: str) -> bool:
    """True if the experiment recorded an exact fact, or its changed arm wins by an eighth."""
    return shown(evidence, run) or wins_a_little(evidence, run)


def shown_or_wins(evidence: Evidence, run: str) -> bool:
    """True if the experiment recorded an exact fact, or its changed arm wins."""
    return shown(evidence, run) or remedy_wins(evidence, run)


def shown_if_held(evidence: Evidence, run: str) -> bool:
    """Judged on rows of an evaluation: what was recorded; else whether the changed arm wins."""
    return shown(evidence, run) if evidence.fact("held", run=run, default=False) else remedy_wins(evidence, run)


def wrong_derivative(evidence: Evidence, run: str) -> bool:
    """True if a backward does not fit its forward, and autograd's derivative in its place does not end higher (with a surrogate it would)."""
    if not evidence.fact("mismatch", run=run, default=False):
        return False
    if remedy_wins(evidence, run):
        return True
    control, changed = evidence.series("loss", run=f"{run}/control").array(), evidence.series("loss", run=f"{run}/changed").array()
    return bool(evidence.fact("certain", run=run, default=False) and len(changed) and tail(changed) <= tail(control))


def wins_or_halves(evidence: Evidence, run: str) -> bool:
    """True if the changed arm wins; by half where the training came most of the way, since a rate kept high is seldom worse on a few batches."""
    seen = evidence.fact("learned", default={})
    return halves(evidence, run) if seen.get("learned") and seen.get("share", 1.0) >= NEARLY_THERE else remedy_wins(evidence, run)


def wins_where_between(evidence: Evidence, run: str) -> bool:
    """True if the changed arm wins; by an eighth where exact facts say that layers in the middle of a trained model were left out."""
    return wins_a_little(evidence, run) if evidence.fact("between", run=run, default=False) else remedy_wins(evidence, run)


def wins_or_does_not_break(evidence: Evidence, run: str) -> bool:
    """True if the changed arm wins; by little, but beyond noise, where the script's loss broke late and the changed arm stays far below that."""
    broke = evidence.fact("broke", run=run)
    if not broke:
        return remedy_wins(evidence, run)
    changed = evidence.series("loss", run=f"{run}/changed").array()
    return remedy_wins(evidence, run) or tail(changed) < 0.5 * broke and remedy_wins(evidence, run, share=0.05)
