"""Find logs, read them, judge them: one after another where they are few, on all cores (or any executor) where they are many."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain, islice

from whyloss.diagnosis.reading.many import ManyReading, read_with
from whyloss.diagnosis.reading.run import RunReading, read_run
from whyloss.errors import LogUnreadable
from whyloss.logged import LoggedRun
from whyloss.render.reading.words import Readings
from whyloss.sources.readers import Found, find_logs, read_found

FEW = 24     # logs that are read in this process: starting others takes longer
SHOWN = 6    # runs that are shown one by one; more become a table


def gather(paths, *, jobs: int = 1, executor=None, **how) -> Readings:
    """Read everything under `paths` (files, folders, patterns, addresses).

    jobs      processes; 1: this one
    executor  any concurrent.futures.Executor to read on in their place
    how       what `read_run` takes: loss, val, x, loss_name, classes, baseline, floor
    Raises LogUnreadable where nothing is, UnknownName for a column that the only run does not have.
    """
    found = _gathered(paths, jobs, executor, how)
    many = found.many.joined()
    again = dict(many.twice)
    shown = [_with_others(reading, many.twice) for reading in found.shown if reading.id not in again]
    return Readings(many, shown if len(shown) <= SHOWN else [])


def _gathered(paths, jobs, executor, how) -> Readings:
    logs = find_logs(paths)
    first = list(islice(logs, FEW + 1))
    if executor is not None:
        return Readings(read_with(executor, runs_of, chain(first, logs), **how))
    if len(first) <= FEW or jobs < 2:
        return in_turn(chain(first, logs), how)
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(jobs) as pool:
        return Readings(read_with(pool, runs_of, chain(first, logs), **how))


def _with_others(reading: RunReading, twice: list[tuple[str, str]]) -> RunReading:
    told = tuple(f"{second} holds the same training in another format" for second, first in twice if first == reading.id)
    return replace(reading, remarks=reading.remarks + told) if told else reading


def runs_of(found: Found) -> list[LoggedRun]:
    """The runs of one log; none for a file in a folder that is no log. Raises LogUnreadable. For worker processes too."""
    runs = read_found(found)
    if runs and runs[0].format == "unreadable":
        raise LogUnreadable(runs[0].warnings[0])
    return runs


def in_turn(logs: Iterable[Found], how: dict) -> Readings:
    """Read here; the readings of a few runs are kept whole, of more only their rows."""
    readings = Readings()
    for found in logs:
        try:
            runs = runs_of(found)
        except LogUnreadable as error:
            readings.many.refused.append((found.path, str(error)))
            continue
        for run in runs:
            reading = read_run(run, **how)
            readings.many.add(reading)
            if len(readings.shown) <= 2 * SHOWN:  # some may be second logs of one training
                readings.shown.append(reading)
    if len(readings.many.rows) > len(readings.shown):
        readings.shown = []
    return readings


def read(paths, *, executor=None, jobs: int = 1, **how) -> "RunReading | ManyReading":
    """Read training logs: what each curve shows, what it can and cannot mean, which single check to run next.

    paths     a file, folder, pattern or address, or several; CSV, JSONL, trainer_state.json, TensorBoard, W&B, MLflow, text, ...
    executor  any concurrent.futures.Executor (Dask's `client.get_executor()` is one) for thousands of runs
    jobs      processes of our own for many logs; they are forked, so not from a program that runs threads
    how       loss, val, x: columns by name; loss_name="cross-entropy" and classes=C, or baseline, floor: numbers in units of the loss
    -> the reading of the run, or of all runs where there are several. Raises LogUnreadable if nothing could be read.
    """
    readings = gather(paths, executor=executor, jobs=jobs, **how)
    if not readings.many.rows:
        raise LogUnreadable("; ".join(why for _, why in readings.many.refused) or f"no training log under {paths!r}")
    return readings.shown[0] if len(readings.shown) == 1 and not readings.many.refused else readings.many
