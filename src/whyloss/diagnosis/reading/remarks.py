"""What else was noticed in a run, one sentence each."""

import numpy as np

from whyloss.diagnosis.reading import signs
from whyloss.diagnosis.reading.words import read_name


def remarks(run, found, series, curves, spiked, known):
    yield from ([known] if known else [])
    yield from found.notes
    if found.combined:
        yield f"{found.train} is the {found.combined} of {', '.join(found.parts)}"
    for name, spike in spiked.items():
        yield f"{name}: {spike.line()}"
    for name in dict.fromkeys(n for n in (found.train, *found.validation) if n in series):
        s = series[name]
        if not s.outline.rising and (back := s.steps[1:] < s.steps[:-1]).any():
            row = int(np.argmax(back)) + 1
            yield f"{name}: the step counter goes back at row {row}: the run was resumed, or a second run was written to the same file"
        pattern = signs.epoch_period(s)
        if pattern:
            yield f"{name}: {pattern}"
        window = signs.smoothed(s)
        if window is not None:
            over = f"about {window}" if window else "many"
            yield f"{name}: neighbouring values are alike (smoothed over {over} points before logging, or correlated noise): short events are hidden"
    for name in found.terms:
        if name in curves and curves[name].label == "diverged" and found.train in curves and curves[found.train].label != "diverged":
            yield f"{name} rises while {found.train} does not: the terms pull against each other"
    for name in found.losses:
        if name in series and len(series[name]) >= 3 and np.all(series[name].values == 0):
            yield f"{name} is exactly 0 throughout: this part is switched off, or there is nothing to score (no labels in that set, a single class)"
    for name in found.accuracies:
        partner = next((n for n in (*found.validation, found.train) if n in series and run.series[name].steps.size and _same_split(n, name)), None)
        if partner:
            told = signs.disagreement(series[partner], run.series[name])
            yield from ([told] if told else [])
    yield from _gradient_remarks(run, found)


def _same_split(a, b):
    return read_name(a).split == read_name(b).split


def _gradient_remarks(run, found):
    for name in found.gradient_norms:
        s = run.series[name]
        bad = ~np.isfinite(s.values)
        if bad.any() and not bad.all():
            yield f"{name} is not finite at {int(bad.sum())} of {len(s)} points, first at step {int(s.steps[np.argmax(bad)])}"
        elif len(s) >= 5 and np.all(s.values == 0):
            yield f"{name} is exactly 0 throughout: no gradient arrives"
    for name in found.learning_rates[:4]:
        s = run.series[name]
        if len(s) >= 5 and np.all(s.values == 0):
            yield f"{name} is exactly 0 throughout: nothing can be learned"
