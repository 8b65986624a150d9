"""The label of a run from the labels of its curves and pairs."""

from dataclasses import replace

from whyloss.curves import CurveReading
from whyloss.diagnosis.reading.roles import ADVERSARIES, REINFORCEMENT, TABLE

TELLING = ("spiky", "oscillating", "learning-rate-limited-plateau")  # said of the run even where validation is fine


def whole_label(run, found, series, curves, pairs):
    """(reading of the run, the series it speaks of)."""
    bad = [(n, c) for n, c in curves.items() if c.label == "non-finite"]
    main = [n for n in (found.train, *found.validation) if n in curves]
    if bad and not (found.context == TABLE):
        name, worst = min(bad, key=lambda nc: (nc[0] not in main, nc[1].first_bad_step))
        return replace(worst, detail=f"{name}: {worst.detail}"), series.get(name) or run.series[name]
    if found.context and not found.given:
        return _no_loss(run, found), None
    if not main:
        if series:
            name = max(series, key=lambda n: len(series[n]))
            return curves[name], series[name]
        long = any(len(s) >= 5 for s in run.series.values())
        why = "none of its columns is a loss" if long else "it holds too few numbers" if run.series else "it holds no numbers"
        return CurveReading("not-a-loss-curve" if long else "too-short-to-tell", detail=why, confidence=0.6 * long), None
    train, many = found.train, max((len(series[v]) for v in found.validation if v in series), default=0)
    if not found.validation or not pairs or train not in curves:
        name = main[0]
        return curves[name], series[name]
    if len(series[train]) < 8 and many >= max(8, 2 * len(series[train])) and not found.given:
        name = found.validation[0]
        return replace(curves[name], detail=f"{name}: {curves[name].detail} ({train} has only {len(series[train])} points)"), series[name]
    return _paired(found, series, curves, pairs)


def late_start(reading, judged):
    """A long level log that begins late (a resumed run): level is what it shows, though an earlier fall may be missing from it."""
    if reading.label == "too-short-to-tell" and "flat-from-start" in reading.also and judged is not None and len(judged) >= 50:
        return replace(reading, label="flat-from-start", also=(), confidence=0.4), judged
    return reading, judged


def _paired(found, series, curves, pairs):
    mine = [(p, r) for p, r in pairs.items() if p[1] in found.validation]
    fit = curves[found.train]
    over = [(p, r) for p, r in mine if r.label == "overfitting"]
    if over and 2 * len(over) >= len(mine):
        (_, name), told = sorted(over, key=lambda pr: pr[1].turning_step)[(len(over) - 1) // 2]
        more = f" ({len(over)} of {len(mine)} validation sets do)" if len(mine) > 1 else ""
        return replace(told, detail=f"{told.detail}{more}"), series[name]
    (_, name), told = next((pr for pr in mine if pr[1].label != "too-short-to-tell"), mine[0])
    if over:
        told = replace(told, also=tuple(dict.fromkeys((*told.also, "overfitting"))))
    if told.label == "too-short-to-tell" and fit.label != "too-short-to-tell":
        also = ("too-short-to-tell",)
        return replace(fit, also=tuple(dict.fromkeys((*fit.also, *also))), detail=f"{fit.detail}; {name} has too few points to compare"), series[
            found.train
        ]
    check = curves[name]
    if told.label == "too-short-to-tell" and "flat-from-start" in fit.also:
        return replace(fit, detail=f"{found.train}: {fit.detail}"), series[found.train]
    if told.label == "healthy":
        if fit.label in TELLING:
            return replace(fit, also=("healthy",), detail=f"{found.train}: {fit.detail}; {told.detail}"), series[found.train]
        if check.label in TELLING:
            return replace(check, also=("healthy",), detail=f"{name}: {check.detail}; {told.detail}"), series[name]
        if fit.label == check.label == "plateau-high":
            return replace(check, also=("healthy",), detail=f"both level off high: {told.detail}"), series[name]
    of_training = told.detail.startswith("training:") or told.label in ("underfitting",)
    return told, series[found.train if of_training else name]


def _no_loss(run, found) -> CurveReading:
    reasons = {
        REINFORCEMENT: "reinforcement learning: its losses follow a moving target and need not fall; the return says whether it learns",
        ADVERSARIES: "two networks play against each other: neither loss need fall, and a level loss can be sound",
        TABLE: "each row is the end of another run: there is no time axis",
    }
    longest = max((len(s) for s in run.series.values()), default=0)
    if longest < 3:
        return CurveReading("too-short-to-tell", also=("not-a-loss-curve",), detail=f"{longest} values; {reasons[found.context]}")
    return CurveReading("not-a-loss-curve", detail=reasons[found.context], confidence=0.9)
