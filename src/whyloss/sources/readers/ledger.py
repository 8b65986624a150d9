"""What `whyloss run` itself recorded: the numbers of a ledger, one curve for each quantity and place."""

import json
import re

from whyloss.errors import NothingLogged
from whyloss.logged import LoggedRun
from whyloss.sources.readers import database
from whyloss.sources.readers import opened as files
from whyloss.sources.readers.points import Points

FORMAT = "whyloss ledger"


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
                name = quantity if subject in ("run", "", None) else f"{quantity}/{subject}"
                runs.setdefault(str(run), Points()).add(str(name), float(step or 0), float(number))
    if not runs:
        raise NothingLogged(f"{path}: a ledger without any number")
    warnings = [f"{path}: {bad} damaged rows left out"] if bad else []
    return [
        points.run(files.name_of(path) + (f"#{run}" if len(runs) > 1 else ""), FORMAT, (path,), warnings=warnings, columns=columns)
        for run, points in runs.items()
    ]


def is_ledger(name: str) -> bool:
    return re.fullmatch(r"ledger-\d+\.db", name) is not None
