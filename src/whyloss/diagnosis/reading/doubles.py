"""One training that was logged twice, side by side in two formats (event files and a CSV): it must count once, in the table and in every test."""

from itertools import groupby

import numpy as np

from whyloss.diagnosis.reading.summary import RunSummary

NEARLY = 0.02  # of the value, at each of the remembered places: loggers round; with another seed two runs are further apart


def doubles(rows: list[RunSummary]) -> dict[str, str]:
    """{id of a second log: id of the first} for rows of one folder, in different formats, with one curve. The most settings come first."""
    found = {}
    for _, beside in groupby(sorted((r for r in rows if r.folder and r.sketch), key=lambda r: r.folder), key=lambda r: r.folder):
        firsts: list[RunSummary] = []
        for row in sorted(beside, key=lambda r: (-len(r.settings), len(r.id), r.id)):
            first = next((f for f in firsts if f.format != row.format and f.points == row.points and _alike(f, row)), None)
            if first is None:
                firsts.append(row)
            else:
                found[row.id] = first.id
    return found


def _alike(a: RunSummary, b: RunSummary) -> bool:
    return bool(np.allclose(a.sketch, b.sketch, rtol=NEARLY, atol=1e-3 * np.ptp(a.sketch)))
