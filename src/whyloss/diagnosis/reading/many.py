"""Many runs read together: which are broken and since when, which setting separates good from bad, which "different" runs are the same run.

Rows are small and mergeable, so parts can be read anywhere: `read_with(executor, read, paths)` takes any `concurrent.futures.Executor` (Dask's
`client.get_executor()` is one), or merge the ManyReading of your own workers with `+`.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from whyloss.diagnosis.reading.doubles import NEARLY, doubles
from whyloss.diagnosis.reading.run import RunReading, read_run
from whyloss.diagnosis.reading.separate import Separation, separate
from whyloss.diagnosis.reading.summary import NAMES, RESULTS, SKETCH, RunSummary, summarise
from whyloss.errors import WhylossError
from whyloss.logged import LoggedRun

NEIGHBOURS = 40  # compared with each run, nearest in level: keeps thousands of runs linear


@dataclass(frozen=True)
class Same:
    """Runs with one curve. exact: equal bit by bit; differing: the settings that differ among them, names and places left out."""

    ids: tuple[str, ...]
    exact: bool
    differing: tuple[str, ...] = ()

    def line(self) -> str:
        shown = ", ".join(self.ids[:4]) + (f" and {len(self.ids) - 4} more" if len(self.ids) > 4 else "")
        how = "identical bit by bit" if self.exact else f"equal within {NEARLY:.0%} at each of {SKETCH} places"
        if self.differing:
            keys = ", ".join(self.differing[:5])
            differ, was = ("differs", "the setting was") if len(self.differing) == 1 else ("differ", "the settings were")
            return f"{shown}: {how}, though {keys} {differ}: {was} not applied" + ("" if self.exact else ", or makes no difference")
        return f"{shown}: {how}, and no setting differs: copies of one run" if self.exact else f"{shown}: {how}: repeats of one run"


@dataclass
class ManyReading:
    """Rows of all runs read so far; `a + b` merges. refused: (path, why) of what could not be read; twice: (second, first log) of one training."""

    rows: list[RunSummary] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    twice: list[tuple[str, str]] = field(default_factory=list)

    def add(self, reading: RunReading | RunSummary) -> None:
        self.rows.append(reading if isinstance(reading, RunSummary) else summarise(reading))

    def __add__(self, other: "ManyReading") -> "ManyReading":
        return ManyReading(self.rows + other.rows, self.refused + other.refused, self.twice + other.twice)

    def __iadd__(self, other: "ManyReading") -> "ManyReading":
        self.rows += other.rows
        self.refused += other.refused
        self.twice += other.twice
        return self

    def joined(self) -> "ManyReading":
        """The same without the second logs of a training (`doubles`), which are named in `twice`."""
        again = doubles(self.rows)
        return ManyReading([r for r in self.rows if r.id not in again], self.refused, self.twice + list(again.items())) if again else self

    def counts(self) -> Counter:
        """How many runs have each label."""
        return Counter(row.label for row in self.rows)

    def table(self) -> list[RunSummary]:
        """Rows: broken first, the most certain of them on top, then those that could not be judged, then sound ones; by id within."""
        return sorted(self.rows, key=lambda r: ({True: 0, None: 1, False: 2}[r.broken], -round(r.confidence, 1) if r.broken else 0, r.id))

    def separating(self) -> list[Separation]:
        """Settings tested against good and bad, the smallest p first; empty where nothing could be tested (`why_untested` says why)."""
        judged = [r for r in self.rows if r.broken is not None]
        return separate([_real(r.settings) for r in judged], [bool(r.broken) for r in judged])

    def why_untested(self) -> str:
        judged = [r for r in self.rows if r.broken is not None]
        bad = sum(bool(r.broken) for r in judged)
        if not any(r.settings for r in judged):
            return "no settings were logged with these runs"
        if min(bad, len(judged) - bad) < 2:
            return f"{bad} of {len(judged)} judged runs are broken: at least two of each kind are needed"
        return "no setting differs between these runs"

    def same(self) -> list[Same]:
        """Groups of runs with one curve: exact ones first, then nearly equal ones whose settings differ or not."""
        groups: dict[str, list[RunSummary]] = {}
        for row in sorted(self.rows, key=lambda r: r.id):
            if row.digest:
                groups.setdefault(row.digest, []).append(row)
        exact = [_same(rows, True) for rows in groups.values() if len(rows) > 1]
        return exact + [_same(rows, False) for rows in _near([rows[0] for rows in groups.values()])]

    def lines(self) -> list[str]:
        """The findings across runs as plain sentences; the table apart."""
        judged, bad = sum(r.broken is not None for r in self.rows), sum(r.broken is True for r in self.rows)
        told = [
            f"{len(self.rows)} runs, {bad} of {judged} judged are broken: " + ", ".join(f"{n} {label}" for label, n in self.counts().most_common())
        ]
        tests = self.separating()
        told += [
            f"separates good from bad: {t.text} (p = {t.corrected:.2g}, corrected for {len(tests)} settings"
            + (f"; cannot be told apart from {', '.join(t.twins)}" if t.twins else "")
            + ")"
            for t in tests
            if t.separates
        ]
        if not any(t.separates for t in tests):
            told.append(
                "no setting separates good from bad: "
                + (
                    f"{len(tests)} tried, the nearest {tests[0].setting} with p = {tests[0].corrected:.2g} after correction"
                    if tests
                    else self.why_untested()
                )
            )
        told += [s.line() for s in self.same()]
        told += [f"{r.id}: {r.contradiction}" for r in self.rows if r.contradiction]
        told += [f"{second}: the training of {first} in another format, counted once" for second, first in self.twice]
        return told + [f"{path}: {why}" for path, why in self.refused]


def read_many(readings: Iterable[RunReading | RunSummary | LoggedRun], **how) -> ManyReading:
    """Read as a stream: each run is judged (`how` goes to read_run), reduced to its row, and forgotten."""
    many = ManyReading()
    for item in readings:
        many.add(read_run(item, **how) if isinstance(item, LoggedRun) else item)
    return many


def read_with(executor, read: Callable[[object], Iterable[LoggedRun]], items: Iterable, *, chunk: int = 32, ahead: int = 16, **how) -> ManyReading:
    """The same on any executor with `submit`. read: picklable, gives the runs of one item (a path); ahead: chunks in flight, which bounds memory."""
    items, waiting, many = iter(items), [], ManyReading()
    while True:
        while len(waiting) < ahead and (part := list(islice(items, chunk))):
            waiting.append(executor.submit(read_part, read, part, how))
        if not waiting:
            return many
        many += waiting.pop(0).result()  # in order: the rows do not depend on who was faster


def read_part(read: Callable[[object], Iterable[LoggedRun]], items: list, how: dict) -> ManyReading:
    """One worker's share. What cannot be read is named, and the rest goes on."""
    many = ManyReading()
    for item in items:
        try:
            for run in read(item):
                many.add(read_run(run, **how))
        except (WhylossError, OSError) as problem:
            many.refused.append((str(item), str(problem)))
    return many


def _same(rows: list[RunSummary], exact: bool) -> Same:
    keys = {k for r in rows for k in _real(r.settings)}
    return Same(tuple(r.id for r in rows), exact, tuple(sorted(k for k in keys if len({str(r.settings.get(k)) for r in rows}) > 1)))


def _real(settings: dict) -> dict:
    """Without names, places and results that loggers keep beside the settings."""
    return {k: v for k, v in settings.items() if not NAMES.search(k) and not (RESULTS.search(k) and isinstance(v, float))}


def _near(rows: list[RunSummary]) -> list[list[RunSummary]]:
    """Groups of runs whose sketches agree, found among neighbours in level."""
    rows = [r for r in rows if r.sketch and np.isfinite(r.sketch).all()]
    if len(rows) < 2:
        return []
    table = np.array([r.sketch for r in rows])
    order = np.argsort(table.mean(1))
    table, rows, group = table[order], [rows[i] for i in order], list(range(len(rows)))
    span = np.ptp(table, axis=1)
    for i in range(len(rows) - 1):
        others = table[i + 1 : i + 1 + NEIGHBOURS]
        close = (np.abs(others - table[i]) <= NEARLY * np.abs(table[i]) + 1e-3 * span[i]).all(1)
        for j in i + 1 + np.flatnonzero(close):
            if rows[i].points == rows[j].points:
                group[j] = group[i]
    members: dict[int, list[RunSummary]] = {}
    for row, g in zip(rows, group):
        members.setdefault(g, []).append(row)
    return [sorted(m, key=lambda r: r.id) for m in members.values() if len(m) > 1]
