"""The CSV that the W&B site exports: one column for each run and metric, "brave-run - loss", with "__MIN" and "__MAX" beside it."""

import re

from whyloss.sources.readers import roles
from whyloss.sources.readers.table import Table

_NAMED = re.compile(r"(?P<run>.+) - (?P<metric>[^ ].*?)(?P<bound>__MIN|__MAX)?")


def split(table: Table, path: str) -> list[tuple[str, Table]]:
    """(run's id, its table) of each run in an export; empty if the table is none."""
    counters = {name: column for name, column in table.numbers.items() if roles.is_counter(name) and " - " not in name}
    named = {name: _NAMED.fullmatch(name) for name in (*table.numbers, *table.words) if name not in counters}
    if not named or not all(named.values()) or not any(name.endswith(("__MIN", "__MAX")) for name in named) or not counters:
        return []
    runs: dict[str, Table] = {}
    for name, found in named.items():
        part = runs.setdefault(found["run"], Table(table.height, dict(counters), warnings=list(table.warnings)))
        if not found["bound"] and name in table.numbers:
            part.numbers[found["metric"]] = table.numbers[name]
    return [(f"{path}#{run}", part) for run, part in runs.items() if len(part.numbers) > len(counters)]
