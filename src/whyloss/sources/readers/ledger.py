"""What `whyloss run` itself recorded: the numbers of a ledger, one curve for each quantity and place."""

import json
import re
import sqlite3

import numpy as np

from whyloss.errors import LogUnreadable, NothingLogged
from whyloss.logged import LoggedRun, LoggedSeries
from whyloss.sources import framefile
from whyloss.sources.readers import database
from whyloss.sources.readers import opened as files
from whyloss.sources.readers.points import Points

FORMAT = "whyloss ledger"
MOST = 4096         # frames of one run: of more, so many evenly chosen
MOST_COLUMNS = 64   # curves of a large model's layers are no reading


def recognises(path, head: bytes) -> bool:
    return head.startswith(database.MAGIC) and {"run", "quantity", "subject", "step", "value"} <= database.columns_of(path).get("observation", set())


def read(path, *, columns=None) -> list[LoggedRun]:
    runs: dict[str, Points] = {}
    bad = 0
    with database.opened(path) as base:
        for run, quantity, subject, step, value in base.execute("SELECT run, quantity, subject, step, value FROM observation ORDER BY rowid"):
            try:
                number = json.loads(value)
            except (ValueError, TypeError, RecursionError):
                bad += 1
                continue
            if isinstance(number, (int, float)) and not isinstance(number, bool):
                runs.setdefault(str(run), Points()).add(_name(quantity, subject), float(step or 0), float(number))
    framed, left_out = _frames(path, columns)
    if not runs and not framed:
        raise NothingLogged(f"{path}: a ledger without any number")
    warnings = [f"{path}: {bad} damaged rows left out"] if bad else []
    if left_out:
        warnings.append(f"{path}: {left_out} numbers of single layers left out; whyloss health {path} shows them")
    names = dict.fromkeys([*runs, *framed])
    found = []
    for run in names:
        title = files.name_of(path) + (f"#{run}" if len(names) > 1 else "")
        found.append(runs.get(run, Points()).run(title, FORMAT, (path,), warnings=list(warnings), columns=columns))
        found[-1].series |= framed.get(run, {})
    return found


def _name(quantity, subject) -> str:
    return str(quantity if subject in ("run", "", None) else f"{quantity}/{subject}")


def _frames(path, columns) -> tuple[dict[str, dict[str, LoggedSeries]], int]:
    """run -> curves, from the packed frames of a monitored run and the extremes of those that were thinned out; and how many columns were left out.

    What was taken again after a resume is left out. Of a large model only the run's own numbers are read, unless others are named.
    """
    if not framefile.holds_frames(path):
        return {}, 0
    try:
        with framefile.opened(path) as base:
            slots = base.execute("SELECT quantity, subject FROM slot").fetchall()
            wanted = {key for key in slots if columns is None or _name(*key) in columns}
            if columns is None and len(wanted) > MOST_COLUMNS:
                wanted = {(quantity, subject) for quantity, subject in slots if subject == "run"} or wanted
            quantities = {quantity for quantity, _ in wanted}
            frames = framefile.frames_in(base, most=MOST, quantities=quantities)
            found = list(framefile.series(frames, framefile.extremes_in(base, quantities)))
    except (sqlite3.Error, OSError, ValueError, OverflowError) as error:
        raise LogUnreadable(f"{path}: no readable ledger: {error}") from error
    runs: dict[str, dict[str, LoggedSeries]] = {}
    for run, key, steps, values in found:
        if "/before-" in run or key not in wanted:
            continue
        name, curves = _name(*key), runs.setdefault(run, {})
        if name in curves:  # a part of a resumed run
            steps, values = np.concatenate([curves[name].steps, steps]), np.concatenate([curves[name].values, values])
        curves[name] = LoggedSeries(name, steps.astype(float), values.astype(float), "step")
    return runs, 0 if columns is not None else len(slots) - len(wanted)


def is_ledger(name: str) -> bool:
    return re.fullmatch(r"ledger-\d+\.db|frames(-rank-\d+)?\.db", name) is not None
