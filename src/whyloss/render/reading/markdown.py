"""Readings as Markdown, for an issue or a job's summary."""

from whyloss.render.reading import words as said
from whyloss.render.words import one_line


def render(readings: said.Readings) -> str:
    """A section for each run that is shown, a table of all runs where there are several."""
    parts = [f"# {_cell(said.title(readings))}\n"]
    if len(readings.many.rows) > 1:
        parts += ["\n".join(f"* {one_line(line)}" for line in readings.many.lines()) + "\n", _table(readings)]
    for reading in readings.shown:
        parts.append(f"## {_cell(reading.id)}: {_cell(said.headline(reading))}\n")
        parts.append(said.meaning(reading) + "\n")
        rows = [*said.facts(reading), *((name, said.curve_said(reading, name)) for name in reading.curves)]
        parts.append("\n".join(f"* **{_cell(name)}** {one_line(text)}" for name, text in rows) + "\n")
        if reading.remarks:
            parts.append("\n".join(f"* {one_line(text)}" for text in reading.remarks) + "\n")
    parts += [f"* {one_line(path)}: {one_line(why)}\n" for path, why in readings.many.refused]
    return "\n".join(parts)


def _cell(text: str) -> str:
    return one_line(text).replace("|", "\\|")


def _table(readings: said.Readings) -> str:
    rows = [cells for _, cells in said.table(readings.many).rows]
    lines = ["| run | label | since | loss | settings |", "| --- | --- | --- | --- | --- |"]
    return "\n".join(lines + ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]) + "\n"
