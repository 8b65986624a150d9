"""What a reading says, in the same words in every format; curves thinned to what can be drawn."""

from dataclasses import dataclass, field

import numpy as np

from whyloss.causes.labels import LABELS
from whyloss.diagnosis.reading.many import ManyReading
from whyloss.diagnosis.reading.run import RunReading
from whyloss.diagnosis.reading.summary import RESULTS, RunSummary
from whyloss.logged import LoggedSeries
from whyloss.render import words

DRAWN = 600  # points of a drawn curve: two for each column of a wide screen
SOUND = {"healthy", "converged", "plateau-low", "still-improving", "learning-rate-limited-plateau"}


@dataclass
class Readings:
    """What `whyloss read` found: every run's row, and the full readings of the runs that are shown one by one."""

    many: ManyReading = field(default_factory=ManyReading)
    shown: list[RunReading] = field(default_factory=list)


def verdict(reading: RunReading | RunSummary) -> str:
    """"fault" for a broken run, "healthy" for a sound one, else "undetermined": the words of the report's verdicts."""
    if reading.broken:
        return "fault"
    return "healthy" if reading.label in SOUND else "undetermined"


def headline(reading: RunReading) -> str:
    """Labels, and since when."""
    labels = " and ".join((reading.label, *reading.also))
    at = reading.first_bad_step if reading.first_bad_step is not None else reading.turning_step
    return labels if at is None else f"{labels}, {reading.step_unit} {at}"


def meaning(reading: RunReading) -> str:
    """The label's sentence."""
    if reading.label == "plateau-high" and not reading.broken:
        return "The loss fell and then stopped. Whether it could go lower cannot be told: nothing is known of what this task allows."
    return LABELS.get(reading.label, "")


def since(row: RunSummary) -> str:
    return "" if row.since is None else f"{row.step_unit} {row.since}"


def segments(reading: RunReading) -> list[str]:
    """"0 to 218 falling", for the curve that the label is about."""
    curve = reading.curves.get(reading.judged.name) if reading.judged is not None else None
    return [f"{first} to {last} {name}" for first, last, name in (curve.segments if curve else ())]


def bands(reading: RunReading) -> tuple[tuple[float, float, str], ...]:
    """The segments of the judged curve, where there is more than one."""
    curve = reading.curves.get(reading.judged.name) if reading.judged is not None else None
    return curve.segments if curve is not None and len(curve.segments) > 1 else ()


def findings(many: ManyReading) -> list[str]:
    """What was found across the runs, their common folder left out; without the files that were not read."""
    under = common(["/".join(row.id.split("/")[:-1]) for row in many.rows])
    refused = {f"{path}: {why}" for path, why in many.refused}
    lines = [line for line in many.lines() if line not in refused]
    return [line.replace(f"{under}/", "") for line in lines] if under else lines


def thinned(series: LoggedSeries, most: int = DRAWN) -> tuple[np.ndarray, np.ndarray]:
    """(steps, values): the lowest, the highest and the first non-finite point of each bucket, in order, so that spikes and gaps survive."""
    steps, values = series.steps, series.values
    if values.size <= most:
        return steps, values
    edges = np.linspace(0, values.size, most // 2 + 1).astype(int)
    kept = []
    for a, b in zip(edges[:-1], edges[1:]):
        part = values[a:b]
        good = np.isfinite(part)
        picks = {a + int(np.argmin(good))} if not good.all() else set()
        if good.any():
            picks |= {a + int(np.argmin(np.where(good, part, np.inf))), a + int(np.argmax(np.where(good, part, -np.inf)))}
        kept += sorted(picks)
    return steps[kept], values[kept]


def pictures(reading: RunReading) -> list[dict[str, tuple[np.ndarray, np.ndarray]]]:
    """The charts of a run: training with validation, then each further curve that is judged, terms together. {label: (steps, values)}."""
    roles, run = reading.roles, reading.run
    if run is None:
        return []
    main = [n for n in (roles.train, *roles.validation) if n is not None]
    if not main and reading.judged is not None:
        main = [reading.judged.name]
    rest = [n for n in roles.terms if n not in main]
    others = [n for n in reading.curves if n not in main and n not in rest]
    groups = [main, rest[:6], *([n] for n in others[:8])]
    return [{n: thinned(s) for n in group if (s := series_of(reading, n)) is not None} for group in groups if group]


def series_of(reading: RunReading, name: str) -> LoggedSeries | None:
    """A column, or one that was made of columns (the sum of terms)."""
    return reading.roles.made.get(name) or (reading.run.series.get(name) if reading.run is not None else None)


def sparse(reading: RunReading, name: str) -> list[float]:
    """Values for a sparkline."""
    series = series_of(reading, name)
    return [] if series is None else thinned(series, 200)[1].tolist()


def facts(reading: RunReading) -> list[tuple[str, str]]:
    """(name, text) rows under the headline."""
    rows = [("so", reading.detail), ("segments", ", ".join(segments(reading)))]
    if reading.advice:
        rows += [("can mean", ", ".join(reading.advice.can_mean)), ("cannot tell", reading.advice.cannot_tell)]
        stage = f" (stage {reading.advice.stage})" if reading.advice.stage else ""
        rows.append(("next", f"{reading.advice.check.replace('`', '')}{stage}: {reading.advice.because}"))
    return [(name, text) for name, text in rows if text]


def curve_said(reading: RunReading, name: str) -> str:
    curve = reading.curves[name]
    return f"{' and '.join((curve.label, *curve.also))}  {curve.detail}"


def title(readings: Readings) -> str:
    if len(readings.shown) == 1 and len(readings.many.rows) == 1:
        return f"{readings.shown[0].id}: {headline(readings.shown[0])}"
    bad = sum(row.broken is True for row in readings.many.rows)
    return f"{len(readings.many.rows)} runs read, {bad} broken"


@dataclass(frozen=True)
class Cells:
    """The table of many runs as text. under: the folder that all runs lie in, left out of their names."""

    under: str
    rows: tuple[tuple[RunSummary, tuple[str, str, str, str, str]], ...]

    NAMES = ("run", "label", "since", "loss", "settings")


def table(many: ManyReading) -> Cells:
    """One row a run, broken ones first: (run, label, since, "first to last", the settings that differ between runs)."""
    rows = many.table()
    under = common(["/".join(row.id.split("/")[:-1]) for row in rows])
    telling = _telling(rows)
    cells = []
    for row in rows:
        settings = ", ".join(f"{k}={words.number(row.settings[k])}" for k in telling if k in row.settings)
        loss = f"{words.number(row.first)} to {words.number(row.last)}" if row.points else ""
        cells.append((row, (row.id[len(under):].lstrip("/") if under else row.id, row.label, since(row), loss, settings)))
    return Cells(under, tuple(cells))


def common(folders: list[str]) -> str:
    """The folder that holds all of these; "" if there is none."""
    parts = [folder.split("/") for folder in folders]
    shared = []
    for column in zip(*parts):
        if len(set(column)) > 1:
            break
        shared.append(column[0])
    return "/".join(shared)


def _telling(rows: list[RunSummary], most: int = 4) -> list[str]:
    """Settings that differ between runs, those first that most runs have; numbers before texts."""
    values: dict[str, list] = {}
    for row in rows:
        for key, value in row.settings.items():
            values.setdefault(key, []).append(value)
    differing = [k for k, v in values.items() if len(set(map(str, v))) > 1 and not RESULTS.search(k) and all(len(str(x)) < 24 for x in v)]
    return sorted(differing, key=lambda k: (-len(values[k]), not all(isinstance(v, float) for v in values[k])))[:most]
