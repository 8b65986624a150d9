"""The number explained: which prediction gives the value a loss sits at, for this loss and these targets. Pure, on the ledger."""

import math
from statistics import median

from whyloss.checks.start import CLASSES, losses
from whyloss.evidence import Evidence

NEAR = 0.015     # of the value: how close a level must be to a known one
COLLAPSED = 0.05  # spread of embeddings over their size


def known_levels(evidence: Evidence, run: str = "main") -> list[tuple[float, str]]:
    """(value, what predicts it) of the run's loss, most telling first; [] where the loss is not understood."""
    series = evidence.series("loss", run=run).finite()
    if not series:
        return []
    found = _collapse(evidence, run)
    for _place, call, calls in losses(evidence, run):
        if not call.get("written") and not _is_the_loss(call, series.first.value):
            continue
        if call["function"] in CLASSES:
            found += _classes(call, calls)
        elif call["function"].startswith("binary_cross_entropy"):
            found += _yes_or_no(call, calls)
        elif call["function"] == "mse_loss":
            found += _numbers(call, calls)
    return [(value, words) for value, words in found if value is not None and math.isfinite(value)]


def explained(value: float, evidence: Evidence, run: str = "main") -> str:
    """"0.693 is what a guess of 0.5 for every sample gives", or "" where no known prediction gives this value."""
    if not math.isfinite(value):
        return ""
    for level, words in known_levels(evidence, run):
        if abs(value - level) <= max(NEAR * abs(level), 1e-3 if level else 1e-6):
            return f"{value:.4g} is {words}"
    return ""


def the_number(evidence: Evidence, run: str = "main") -> str:
    """For the end of a summary: what the value is that the loss stays at, or "" where it goes on falling or is not understood."""
    values = evidence.series("loss", run=run).finite().values
    if len(values) < 10:
        return ""
    said = explained(median(values[-max(3, len(values) // 8):]), evidence, run)
    return f"; the loss ends at {said}".replace(" is ", ", ", 1) if said else ""


def _is_the_loss(call: dict, first: float) -> bool:
    value = call.get("value")
    return call.get("reduction") == "mean" and value is not None and abs(value - first) <= 1e-3 * max(1.0, abs(first))


def _typical(calls: list[dict], key: str) -> float | None:
    values = [c[key] for c in calls if c.get(key) is not None]
    return float(median(values)) if values else None


def _collapse(evidence: Evidence, run: str) -> list:
    rows = [column.last.value for column in evidence.by_subject("embedding", run).values()]
    if not rows or min(row["spread"] for row in rows) > COLLAPSED:
        return []
    return [(math.log(2), "ln 2: with this loss, all distances are equal, the embeddings are one point"),
            (-1.0, "minus the cosine of equal embeddings: all are one point"), (0.0, "the distance of equal embeddings: all are one point"),
            *[(margin, "the margin: both distances are equal, the embeddings are one point") for margin in (0.2, 0.3, 0.5, 1.0, 2.0)]]


def _classes(call: dict, calls: list[dict]) -> list:
    count = call.get("classes")
    if not count:
        return []
    if count == 1:
        return [(0.0, "what cross-entropy over a single output gives, whatever the output")]
    known = []
    if call.get("producer") == "softmax":
        known.append((math.log(1 + (count - 1) / math.e), f"the lowest that a softmax given to a cross-entropy can reach with {count} classes"))
    if call["shape"][0] == count:
        known.append((math.log(count), f"ln {count}: all pairs of the batch look alike"))
    entropy = _typical(calls, "label_entropy")
    if entropy is not None and abs(entropy - math.log(count)) > 0.02:
        known.append((entropy, "what predicting the shares of the classes gives, whatever the input"))
    return [*known, (math.log(count), f"ln {count}: a uniform guess over {count} classes")]


def _yes_or_no(call: dict, calls: list[dict]) -> list:
    share = _typical(calls, "target_mean")
    entropy = _typical(calls, "label_entropy")
    known = []
    if share is not None and call["function"] == "binary_cross_entropy" and call.get("max") == call.get("min"):
        known = [(100 * (1 - share), "what the constant 1 gives: 100 for each sample of class 0"),
                 (100 * share, "what the constant 0 gives: 100 for each sample of class 1")]
    if entropy is not None and abs(entropy - math.log(2)) > 0.01:
        known.append((entropy, "what predicting the share of the positives gives, whatever the input"))
    return [*known, (math.log(2), "ln 2: a guess of 0.5 for every sample")]


def _numbers(call: dict, calls: list[dict]) -> list:
    mean, spread, reach = _typical(calls, "target_mean"), _typical(calls, "target_std"), _typical(calls, "reach_floor")
    known = []
    if reach:
        known.append((reach, f"the lowest that a {call['producer']} at the end can reach on these targets"))
    if spread:
        known.append((spread ** 2, "the variance of the targets: what predicting their mean gives, whatever the input"))
    if spread and mean:
        known.append((spread ** 2 + mean ** 2, "the mean square of the targets: what predicting 0 gives"))
    return known
