"""What a run brings to its judgement: the axis, the baseline that was stated, curves without blanks and hidden NaNs, the rate at each point."""

from dataclasses import replace
from math import log, nan

import numpy as np

from whyloss.curves import CurveReading, read_curve
from whyloss.diagnosis.reading.roles import Roles, named
from whyloss.diagnosis.reading.words import tokens
from whyloss.diagnosis.reading.zeros import hidden_nans, without_blanks
from whyloss.logged import LoggedRun, LoggedSeries

CROSS_ENTROPIES = {"cross-entropy", "crossentropy", "cross_entropy", "ce", "nll", "softmax-cross-entropy", "crossentropyloss"}


def placed(run: LoggedRun) -> LoggedRun:
    """The run without the points whose step is no number: they have no place on the axis."""
    bad = {n for n, s in run.series.items() if not s.outline.rising and not np.isfinite(s.steps).all()}
    return replace(run, series={n: picked(s, np.isfinite(s.steps)) if n in bad else s for n, s in run.series.items()}) if bad else run


def picked(series: LoggedSeries, kept) -> LoggedSeries:
    """The points that are kept (a mask)."""
    epochs, seconds = (None if a is None else a[kept] for a in (series.epochs, series.seconds))
    return replace(series, steps=series.steps[kept], values=series.values[kept], epochs=epochs, seconds=seconds)


def along(run: LoggedRun, x: str) -> LoggedRun:
    """The run over another axis: "row", "epoch", "time" (seconds), or a column of the log (its value at each step)."""
    if x in ("row", "step") and x not in run.series:
        made = {n: replace(s, steps=np.arange(len(s), dtype=float), step_unit="row") if x == "row" else s for n, s in run.series.items()}
    elif x in ("epoch", "time", "seconds") and x not in run.series:
        made = {
            n: replace(s, steps=axis, step_unit=x) for n, s in run.series.items() if (axis := s.epochs if x == "epoch" else s.seconds) is not None
        }
    else:
        axis = run.series[named(run, x, "column for x")]
        order = np.argsort(axis.steps, kind="stable")
        at, values = axis.steps[order], axis.values[order]
        made = {n: replace(s, steps=np.interp(s.steps, at, values), step_unit=x) for n, s in run.series.items() if n != axis.name and at.size}
    return replace(run, series=made)


def baseline_of(run, loss_name, classes, baseline):
    """(baseline, sentence or None). Only from what is stated: a number, the classes of a cross-entropy, or the settings of the log."""
    if baseline is not None:
        return baseline, None
    said = {"".join(tokens(str(k))): v for k, v in run.settings.items()}
    stated = next(
        (str(said[k]) for k in ("loss", "lossfn", "lossfunction", "criterion", "lossname", "losstype", "objective") if isinstance(said.get(k), str)),
        "",
    )
    cross = (
        (loss_name or stated).lower().replace(" ", "-") in CROSS_ENTROPIES
        or "cross" in tokens(loss_name or stated)
        and "binary" not in tokens(loss_name or stated)
    )
    if classes is None and cross:
        counts = (said.get(k) for k in ("numclasses", "nclasses", "classes", "numlabels", "nclass", "numclass", "vocabsize", "nvocab"))
        classes = next((int(v) for v in counts if isinstance(v, (int, float)) and not isinstance(v, bool) and 2 <= v < 1e7), None)
        if classes:
            return log(classes), f"baseline ln {classes} = {log(classes):.4g}: the settings name a cross-entropy over {classes} classes"
    if classes is not None and classes >= 2 and (cross or loss_name is None):
        return log(classes), f"baseline ln {classes} = {log(classes):.4g} for {classes} classes"
    return None, None


def cleaned(run: LoggedRun, found: Roles):
    """({name: (first step, how many, certain)} of hidden NaNs, {name: series with the hidden zeros as NaN})."""
    norms = [run.series[n] for n in found.gradient_norms]
    hidden, series = {}, {}
    for name in found.losses:
        s = series[name] = without_blanks(found.series(run, name))
        zero, certain = hidden_nans(s, norms[0] if norms else None) if not found.context else ((), False)
        if len(zero):
            values = s.values.copy()
            values[zero] = nan
            series[name] = replace(s, values=values)
            hidden[name] = (int(s.steps[zero[0]]), len(zero), certain)
    return hidden, series


def as_hidden(reading, series, hidden):
    first, count, certain = hidden
    sure = "the gradient norm there is not finite" if certain else "no value comes near 0 before"
    trailing = not np.isfinite(series.values[-1])
    return replace(
        reading,
        detail=f"exactly 0.0 from step {first} ({count} of {len(series)} values): a NaN that the logger replaced, {sure}",
        first_bad_step=first,
        confidence=1.0 if certain else 0.8 if trailing and count >= 3 else 0.6,
    )


def no_loss_curve(series: LoggedSeries, why: str) -> CurveReading:
    """A value, critic or adversarial loss: only a number that is none is a fault of it."""
    reading = read_curve(series.steps, series.values, outline=series.outline)
    return (
        reading
        if reading.label == "non-finite"
        else CurveReading("not-a-loss-curve", detail=why, first=reading.first, last=reading.last, best=reading.best, confidence=0.9)
    )


def main_rate(run, found) -> LoggedSeries | None:
    """The learning rate that speaks for all groups: the first with enough finite points."""
    usable = (run.series[n] for n in found.learning_rates if len(run.series[n]) >= 4)
    return next((s for s in usable if np.isfinite(s.values).all() and np.all(np.diff(s.steps) >= 0) and s.values.max() > 0), None)


def rate_at(rate: LoggedSeries | None, series: LoggedSeries):
    """The learning rate in force at each point: the last one logged at or before it."""
    if rate is None or not np.isfinite(series.steps).all():
        return None
    place = np.searchsorted(rate.steps, series.steps, side="right") - 1
    return rate.values[np.maximum(place, 0)]
