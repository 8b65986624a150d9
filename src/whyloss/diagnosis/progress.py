"""Did this training learn? How far the loss came from where it began towards the lowest known value. Pure, on the ledger."""

import math
from dataclasses import replace

import numpy as np

from whyloss.curves import read_curve, read_pair
from whyloss.diagnosis.baselines import explained
from whyloss.evidence import Evidence
from whyloss.report import Curve

LEARNED = 0.3      # of the way from the best constant prediction to the floor
WEIGHS = 0.1       # of the other terms: a penalty that is smaller can hide nothing
SUFFERS = {"flat-from-start", "flat-at-baseline", "diverged", "non-finite", "plateau-high", "oscillating"}


def baselines(evidence: Evidence, run: str) -> tuple[float | None, float | None]:
    """(entropy of the labels, log C) in the units of the run's loss, if the loss that is differentiated is that loss."""
    entropy, chance = evidence.series("label_entropy", run=run), evidence.series("chance", run=run)
    loss = evidence.series("loss", run=run)
    calls = [o for s in evidence.by_subject("loss_call", run).values() for o in s if o.value.get("counts")]
    if not entropy or not loss or not calls or calls[0].value["reduction"] != "mean" or calls[0].value.get("weighted"):
        return None, None
    if not _is_the_loss(calls[0], loss):
        return None, None
    return float(np.median(entropy.array())), float(np.median(chance.array()))


def _is_the_loss(call, loss) -> bool:
    """Whether a loss function's value is what was differentiated in the same step (the first traced one need not be the run's first)."""
    seen = next((value for step, value in zip(loss.steps, loss.values) if step == call.step), loss.first.value)
    first = call.value.get("value")
    return first is not None and math.isfinite(seen) and abs(first - seen) <= 1e-3 * max(1.0, abs(seen))


def assess(evidence: Evidence, run: str = "main") -> dict | None:
    """{"learned", "share", "start", "end", "reference", "floor"} of the main loss, or None with fewer than 5 losses.

    reference  what must be beaten: the best constant prediction where it is known, else where the loss began
    share      (reference - end) / (reference - floor); the floor is 0 for losses that stay above it, else the lowest seen
    A penalty on the weights that is a term of the loss does not count: it falls whether anything is learned or not.
    """
    series = evidence.series("loss", run=run).finite()
    if len(series) < 5:
        whole = evidence.series("loss", run=run)
        if len(whole) < 5:
            return None
        start = series.first.value if series else math.nan
        return {"learned": False, "share": 0.0, "start": start, "end": math.nan, "reference": start, "floor": 0.0}
    task = without_penalties(evidence, run)
    values = series.array() if task is None else task
    head, rest = max(1, min(5, len(values) // 20)), max(3, len(values) // 8)
    start, end = float(np.median(values[:head])), float(np.median(values[-rest:]))
    entropy, chance = baselines(evidence, run)
    constant = entropy if entropy is not None and entropy > 0.02 else _target_variance(evidence, run)
    reference = constant if constant is not None else start
    floor = 0.0 if values.min() >= 0 else float(values.min())
    share = (reference - end) / max(reference - floor, 1e-12)
    broken = evidence.series("loss", run=run).first_non_finite() is not None
    learned = share >= LEARNED and not broken
    noise = float(np.std(values[-rest:])) / math.sqrt(rest)
    learned = learned and (start - end > 2 * noise or end < 0.5 * reference)
    learned = learned and not falls_without_bound(values)
    accuracy = evidence.series("accuracy", run=run)
    if accuracy and accuracy.array()[-3:].mean() > 0.9 and accuracy.array()[-3:].mean() - accuracy.array()[0] > 0.2:
        learned = not broken
    if _validation_says_so(evidence, run):
        learned = not broken
    return {"learned": bool(learned), "share": float(share), "start": start, "end": end, "reference": reference, "floor": floor}


def without_penalties(evidence: Evidence, run: str = "main") -> np.ndarray | None:
    """The loss without its terms made of weights alone, at the steps that recorded its terms; None where there are none, or they weigh nothing."""
    columns = evidence.by_subject("loss_term", run)
    penalty = {s for s, c in columns.items() if all(row.get("penalty") for row in c.values)}
    if not penalty or len(penalty) == len(columns):
        return None
    at = {s: {step: row["value"] * row.get("factor", 1.0) for step, row in zip(c.steps, c.values)} for s, c in columns.items()}
    steps = sorted(set.intersection(*(set(rows) for rows in at.values())))
    if len(steps) < 5:
        return None
    task, extra = (np.array([sum(at[s][step] for s in names) for step in steps]) for names in (set(at) - penalty, penalty))
    return task if np.isfinite(task).all() and abs(extra[0]) > WEIGHS * abs(task[0]) else None


def falls_without_bound(values: np.ndarray) -> bool:
    """Far below zero and falling no slower at the end than before: no loss with a floor does that, and its fall shows nothing."""
    parts = [float(np.median(part)) for part in np.array_split(values, 5)] if len(values) >= 20 else []
    if not parts or parts[-1] > -10 * max(1.0, abs(float(values[0]))):
        return False
    return parts[3] - parts[4] > 0.5 * (parts[0] - parts[2]) / 2


def _target_variance(evidence: Evidence, run: str) -> float | None:
    """Mean squared error of the best constant, where the run's loss is that."""
    seen = [o for s in evidence.by_subject("loss_call", run).values() for o in s if o.value.get("counts")]
    calls = [o.value for o in seen]
    if len({c["function"] for c in calls}) != 1 or calls[0]["function"] != "mse_loss" or calls[0]["reduction"] != "mean":
        return None
    if not _is_the_loss(seen[0], evidence.series("loss", run=run)) or calls[0]["shape"] != calls[0]["target_shape"]:
        return None
    return float(np.median([c["target_std"] ** 2 for c in calls])) or None


def _validation_says_so(evidence: Evidence, run: str) -> bool:
    """Accuracy in evaluation far above guessing, over enough samples: learned, whatever the noisy loss looks like."""
    accuracy, chance = evidence.series("val_accuracy", run=run), evidence.series("chance", run=run)
    if not accuracy or not chance:
        return False
    guess = math.exp(-float(np.median(chance.array())))
    return accuracy.last.value > max(0.85, 1.5 * guess)


def read_curves(evidence: Evidence, run: str = "main") -> list[Curve]:
    """Every loss series of a run with its label; the verdict about the pair stands at the validation series."""
    curves = []
    entropy, chance = baselines(evidence, run)
    main = evidence.series("loss", run=run)
    rates = next(iter(evidence.by_subject("learning_rate", run).values()), None)
    if main:
        baseline = max(b for b in (entropy, chance) if b is not None) if entropy is not None else None
        lr = np.array(rates.values, float) if rates is not None and len(rates) == len(main) else None
        reading = read_curve(main.steps, main.array(), baseline=baseline, learning_rate=lr)
        if entropy is not None and reading.label in ("flat-from-start", "plateau-high") and \
                abs(reading.last - entropy) < 0.04 * max(entropy, 1e-9):
            reading = _at_baseline(reading, entropy)
        curves.append(_curve(main, "loss", _with_the_number(reading, evidence, run)))
    for subject, series in evidence.by_subject("loss", run).items():
        several = [s for s in evidence.by_subject("loss", run).values() if len(s) >= 5]
        if subject != "run" and len(several) > 2 and len(series) >= 5:
            curves.append(_curve(series, "loss", read_curve(series.steps, series.array()), name=f"loss at {subject}"))
    validation = evidence.series("val_loss", run=run)
    if main and len(validation) >= 3:
        curves.append(_curve(validation, "val_loss", read_pair(main.steps, main.array(), validation.steps, validation.array())))
    return curves


def _with_the_number(reading, evidence: Evidence, run: str):
    """A curve that stays at a value says which prediction gives that value."""
    progress = evidence.fact("learned", run=run)
    said = explained(reading.last, evidence, run) if not (progress and progress["learned"] and progress["share"] > 0.9) else ""
    return replace(reading, detail=f"{said}; {reading.detail}" if reading.detail else said) if said else reading


def _at_baseline(reading, entropy: float):
    return replace(reading, label="flat-at-baseline", also=(*reading.also, reading.label),
                   detail=f"{reading.last:.3f} is what the best constant prediction gives on these labels ({entropy:.3f}); {reading.detail}")


def _curve(series, quantity: str, reading, *, name: str | None = None) -> Curve:
    points = range(len(series)) if len(series) <= 600 else sorted({round(i * (len(series) - 1) / 599) for i in range(600)})
    return Curve(name or quantity, quantity, reading.label, reading.detail, tuple(reading.also), series.run, None,
                 reading.turning_step, reading.first_bad_step, tuple(series.steps[i] for i in points), tuple(series.values[i] for i in points),
                 tuple((int(a), int(b), name) for a, b, name in reading.segments), tuple(map(int, reading.events)))


def symptoms(evidence: Evidence, curves: list[Curve], run: str = "main") -> tuple[str, ...]:
    """Labels that need an explanation, most telling first; () when the training was seen to learn."""
    progress = evidence.fact("learned", run=run)
    labels = [c.label for c in curves if c.quantity == "loss" and c.series == "loss"]
    found = [label for label in labels if label in SUFFERS]
    if progress is None:
        return tuple(found)
    if progress["learned"]:
        return tuple(label for label in found if label in ("non-finite", "diverged"))
    return tuple(found) or ("not-learning",)
