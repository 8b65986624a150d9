"""Readings on a terminal: the picture of one run with its segments, or the table of many."""

from itertools import groupby

from rich.console import Console
from rich.table import Table
from rich.text import Text

from whyloss.render import chart, words
from whyloss.render.reading import words as said
from whyloss.render.terminal import COLOURS, LABEL, Glyphs, field, glyphs, write

_COLOUR = {"fault": "red", "healthy": "green", "undetermined": "yellow"}
MOST_ROWS = 200  # rows of a table on a screen; the report file holds all


def show(readings: said.Readings, console: Console) -> None:
    """Print everything that was read."""
    marks = glyphs(console)
    if len(readings.many.rows) > 1:
        _many(readings, console, marks)
    for reading in readings.shown:
        one(reading, console, marks)
    _refused(readings, console)


def one(reading, console: Console, marks: Glyphs) -> None:
    """One run: headline, picture, every curve, what else was noticed, what to do next."""
    verdict = said.verdict(reading)
    colour, symbol = _COLOUR[verdict], getattr(marks, verdict)
    console.print()
    write(console, Text.assemble((f"{symbol} ", colour), (words.one_line(reading.id), ""), "  ", (said.headline(reading), colour), style="bold"),
          indent=0)
    write(console, Text(said.meaning(reading)))
    console.print()
    picture(reading, console, marks)
    for name, text in said.facts(reading):
        field(console, name, text, style="green" if name == "next" else "")
    names = list(reading.curves)
    if len(names) > 1:
        write(console, Text("curves", style="bold"), above=True)
        for name in names:
            _curve(reading, name, console, marks)
    if reading.remarks:
        write(console, Text("noticed", style="bold"), above=True)
        for remark in reading.remarks:
            write(console, Text(f"{marks.bullet} {words.one_line(remark)}"))
    warnings = reading.run.warnings if reading.run is not None else []
    for warning in warnings[:5]:
        write(console, Text(f"{marks.bullet} {words.one_line(warning)}", style="dim"))


def _curve(reading, name: str, console: Console, marks: Glyphs) -> None:
    line = chart.sparkline(said.sparse(reading, name), max(10, min(40, console.width - 45)), unicode=marks.unicode)
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=2 * LABEL, overflow="fold")
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(words.one_line(name)), Text(line, "blue"), Text(words.one_line(said.curve_said(reading, name))))
    write(console, grid)


def picture(reading, console: Console, marks: Glyphs, *, height: int = 8) -> None:
    """Training and validation in one frame, under it the segments of the judged curve, each as wide as it lasts."""
    drawn = (said.pictures(reading) or [{}])[0]
    if not drawn:
        return
    curves = {name: (xs.tolist(), ys.tolist()) for name, (xs, ys) in drawn.items()}
    labels = {name: f"{words.one_line(name)[:24]} {words.number(_last(ys))}" for name, (_, ys) in curves.items()}
    longest = max(map(len, labels.values()))
    width = max(16, min(72, min(console.width, 110) - LABEL - longest - 14))
    lines = chart.plot({labels[name]: xy for name, xy in curves.items()}, width=width, height=height, unicode=marks.unicode, show=words.number)
    if not lines:
        return
    indent = LABEL + 3
    for line in lines:
        row = Text.assemble((f"{line.axis} {marks.bar}", "dim"), no_wrap=True)
        for owner, cells in groupby(line.cells, key=lambda cell: cell[1]):
            row.append("".join(c for c, _ in cells), "" if owner is None else COLOURS[owner % len(COLOURS)])
        for label, owner in line.labels:
            row.append(f" {label}", COLOURS[owner % len(COLOURS)])
        write(console, row, indent=indent)
    low, high = _reach(curves)
    margin = len(lines[0].axis) + 2
    logarithmic = chart.use_log([y for _, ys in curves.values() for y in ys])
    ruler = "" if logarithmic else segments_ruler(reading, low, high, width, marks.unicode)  # what is flat on one scale is steep on the other
    if ruler:
        write(console, Text(" " * margin + ruler, style="dim"), indent=indent)
    log = ", log scale" if logarithmic else ""
    write(console, Text(f"{'':{margin}}over {reading.step_unit} {low:,.10g} to {high:,.10g}{log}", style="dim"), indent=indent)
    console.print()


def _last(values: list[float]) -> float | None:
    return next((v for v in reversed(values) if v == v), None)


def _reach(curves) -> tuple[float, float]:
    xs = chart.finite(x for xs, ys in curves.values() for x, y in zip(xs, ys) if len(chart.finite((x, y))) == 2)
    return (min(xs), max(xs)) if xs else (0.0, 0.0)


def segments_ruler(reading, low: float, high: float, width: int, unicode: bool) -> str:
    """A line as wide as the picture: each segment from its first to its last step, its name inside where it fits.

    "" where there is nothing to cut.
    """
    bands = said.bands(reading)
    if not bands or not high > low:
        return ""
    left, line, right = "├─┤" if unicode else "|-|"
    cells = [" "] * width
    for first, last, name in bands:
        a, b = (min(width - 1, max(0, int((at - low) / (high - low) * width))) for at in (first, last))
        b = max(a, b - 1)
        body = [left, *[line] * max(0, b - a - 1), right][: b - a + 1]
        name = words.one_line(name)
        if len(body) >= len(name) + 4:
            start = (len(body) - len(name)) // 2
            body[start - 1: start + len(name) + 1] = list(f" {name} ")
        cells[a: b + 1] = body
    return "".join(cells)


def _many(readings: said.Readings, console: Console, marks: Glyphs) -> None:
    """What was found across the runs, then one row a run, broken ones first."""
    many = readings.many
    console.print()
    write(console, Text(f"whyloss read {said.title(readings)}", style="bold"), indent=0)
    for line in said.findings(many):
        write(console, Text(f"{marks.bullet} {words.one_line(line)}"))
    cells = said.table(many)
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold", min_width=24, max_width=48)
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    wide = console.width >= 100  # the settings would be a column of letters on a narrow screen
    if wide:
        grid.add_column(overflow="fold", max_width=40)
    grid.add_row("", *(Text(name, style="dim") for name in cells.NAMES[:5 if wide else 4]))
    for row, (run, label, since, loss, settings) in cells.rows[:MOST_ROWS]:
        verdict = said.verdict(row)
        grid.add_row(Text(getattr(marks, verdict), _COLOUR[verdict]), Text(words.one_line(run)), Text(label, _COLOUR[verdict]),
                     Text(since), Text(loss), *([Text(words.one_line(settings), "dim")] if wide else []))
    console.print()
    if cells.under:
        write(console, Text(f"under {words.one_line(cells.under)}", style="dim"))
    write(console, grid)
    if len(cells.rows) > MOST_ROWS:
        write(console, Text(f"and {len(cells.rows) - MOST_ROWS} more; --report FILE.html or FILE.json holds them all", style="dim"))


def _refused(readings: said.Readings, console: Console) -> None:
    for path, why in readings.many.refused[:20]:
        text = why if why.startswith(path) else f"{path}: {why}"
        write(console, Text(f"not read  {words.one_line(text)}", style="yellow"), above=False)
    if len(readings.many.refused) > 20:
        write(console, Text(f"and {len(readings.many.refused) - 20} more that were not read", style="yellow"))
