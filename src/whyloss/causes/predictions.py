"""What an experiment must show when it has no control arm: it writes one fact, `shown`, and the cause reads it.

Experiments with two arms are read by `whyloss.cause.remedy_wins`, the default of every Prediction.
"""

from whyloss.evidence import Evidence


def shown(evidence: Evidence, run: str) -> bool:
    """True if the experiment recorded that the dependence (or independence) it looks for is there."""
    return bool(evidence.fact("shown", run=run, default=False))
