"""The report on a terminal. Text and symbols carry the meaning; colour only underlines it."""

import math
from dataclasses import dataclass
from itertools import groupby

from rich.console import Console
from rich.padding import Padding
from rich.segment import Segment, Segments
from rich.table import Table
from rich.text import Text

from whyloss.causes.labels import LABELS
from whyloss.finding import Finding
from whyloss.render import chart, words
from whyloss.render.figures import figures
from whyloss.render.source import excerpt
from whyloss.report import Report

ARMS = ("red", "green")  # unchanged, changed
COLOURS = ("blue", "magenta", "cyan", "yellow", "green", "red")
WIDEST = 110  # columns; longer lines are hard to read
LABEL = 11  # columns of the label in front of a paragraph
_VERDICT = {"fault": "red", "healthy": "green", "undetermined": "yellow"}
_OUTCOME = {"healthy": "green", "finding": "red", "unexamined": "dim"}


@dataclass(frozen=True)
class Glyphs:
    """The symbols of one terminal: ASCII where its encoding has no others."""

    unicode: bool
    fault: str
    healthy: str
    undetermined: str
    finding: str
    unexamined: str
    pointer: str
    bar: str
    bullet: str
    arrow: str


def glyphs(console: Console) -> Glyphs:
    """Unicode symbols if the console can write them."""
    if "utf" in (console.encoding or "").lower():
        return Glyphs(True, "✗", "✓", "?", "✗", "·", "▶", "│", "•", "→")
    return Glyphs(False, "[x]", "[ok]", "[?]", "x", ".", ">", "|", "-", "->")


def show(report: Report, console: Console, *, layers: bool = False) -> None:
    """Print the whole report. layers: with the per-layer table."""
    marks = glyphs(console)
    console.print()
    _verdict(report, console, marks)
    principal = report.findings[0] if report.findings and report.findings[0].status != "note" else None
    if principal:
        _finding(principal, console, marks)
    _others(report, principal, console, marks)
    _curves(report, console, marks)
    _path(report, console, marks)
    if layers:
        _layers(report, console, marks)
    write(console, Text(words.cost(report), style="dim"), above=True)


def _width(console: Console) -> int:
    return min(console.width, WIDEST)


def write(console: Console, content, *, indent: int = 2, above: bool = False) -> None:
    """Print without markup or highlighting, so that no user string is taken for a style."""
    if above:
        console.print()
    options = console.options.update(width=_width(console), highlight=False, markup=False)
    for line in console.render_lines(Padding(content, (0, 0, 0, indent)), options, pad=False):
        console.print(_stripped(line), soft_wrap=True, end="")


def _stripped(line: list[Segment]) -> Segments:
    """The line without blanks at its end: what is copied from a log should not carry them."""
    while line and not line[-1].text.strip():
        line = line[:-1]
    if line:
        line = [*line[:-1], Segment(line[-1].text.rstrip(), line[-1].style)]
    return Segments([*line, Segment.line()])


def field(console: Console, label: str, content, *, style: str = "", width: int = LABEL) -> None:
    """A label and its paragraph, hanging."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=width, no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(label, style="dim"), Text(words.plain(content), style))
    write(console, grid)


def _verdict(report: Report, console: Console, marks: Glyphs) -> None:
    colour = _VERDICT.get(report.verdict, "yellow")
    symbol = getattr(marks, report.verdict, marks.undetermined)
    line = Text.assemble((f"{symbol} ", colour), "whyloss ", (words.headline(report), colour), style="bold")
    write(console, line, indent=0)
    if report.summary:
        write(console, Text(words.plain(report.summary)))


def _finding(finding: Finding, console: Console, marks: Glyphs) -> None:
    head = Text.assemble((words.plain(finding.cause), "bold"), "  ", (words.STATUS[finding.status], "italic"))
    if finding.step is not None:
        head.append(f"  since step {finding.step}", "dim")
    write(console, head, above=True)
    write(console, Text(words.meaning(finding)))
    _place(finding, console, marks)
    console.print()
    if finding.measured:
        field(console, "measured", finding.measured, style="bold")
    if finding.expected:
        field(console, "expected", finding.expected)
    if finding.message:
        field(console, "so", finding.message)
    if finding.trial:
        field(console, "experiment", words.experiment(finding.trial))
        _trial_chart(finding, console, marks)
    elif words.deciding(finding):
        field(console, "undecided", words.deciding(finding))
    for i, remedy in enumerate(words.remedies(finding)):
        field(console, "try" if i == 0 else "or", remedy, style="green")
    if finding.explains:
        field(console, "explains", ", ".join(finding.explains))


def _place(finding: Finding, console: Console, marks: Glyphs) -> None:
    """Where: file:line with the lines of code around it, and the part of the model."""
    if finding.location:
        where = Text(words.place(finding), style="cyan")
        if finding.subject and finding.subject != str(finding.location):
            where.append(f"  {words.one_line(finding.subject)}", "dim")
        write(console, where, above=True)
        for line, code, hit in excerpt(finding.location):
            front = f"{marks.pointer if hit else '':>2} {line:>4} {marks.bar} "
            room = max(20, _width(console) - len(front) - 4)
            end = "..." if len(code) > room else ""
            style = "bold" if hit else "dim"
            row = Text.assemble((front, "red" if hit else "dim"), (code[: room - len(end)] + end, style))
            row.no_wrap = True
            write(console, row)
    elif finding.subject:
        write(console, Text(f"in {words.one_line(finding.subject)}", style="cyan"), above=True)


def _trial_chart(finding: Finding, console: Console, marks: Glyphs) -> None:
    trial = finding.trial
    ends = {"unchanged": trial.before, "changed": trial.after}
    curves = {f"{name} {words.number(ends[name])}": curve for name, curve in words.arms(trial).items()}
    draw_plot(curves, console, marks, height=6, colours=ARMS)


def draw_plot(curves: dict, console: Console, marks: Glyphs, *, height: int = 7, log_x: bool = False,
              y_label: str = "loss", x_label: str = "steps", indent: int = LABEL + 3,
              colours: tuple[str, ...] = COLOURS) -> None:
    """A plot of curves under the text column, labels at the ends of the curves. Prints nothing if there is no point."""
    longest = max((len(label) for label in curves), default=0)
    width = max(16, min(56, _width(console) - indent - longest - 13))
    lines = chart.plot(curves, width=width, height=height, unicode=marks.unicode, log_x=log_x, show=words.number)
    if not lines:
        return
    for line in lines:
        row = Text.assemble((f"{line.axis} {marks.bar}", "dim"), no_wrap=True)
        for owner, cells in groupby(line.cells, key=lambda cell: cell[1]):
            colour = "" if owner is None else colours[owner % len(colours)]
            row.append("".join(character for character, _ in cells), colour)
        for label, owner in line.labels:
            row.append(f" {words.one_line(label)}", colours[owner % len(colours)])
        write(console, row, indent=indent)
    scale = ", log scale" if chart.use_log([y for _, ys in curves.values() for y in ys]) else ""
    reach = chart.finite(x for xs, _ in curves.values() for x in xs)
    said = f"{y_label}{scale}, over {x_label} {words.number(min(reach))} to {words.number(max(reach))}"
    said += " (log scale)" if log_x else ""
    write(console, Text(f"{'':{len(lines[0].axis)}}  {said}", style="dim"), indent=indent)


def _others(report: Report, principal: Finding | None, console: Console, marks: Glyphs) -> None:
    rest = [f for f in report.findings if f is not principal]
    if not rest:
        return
    write(console, Text("also seen", style="bold"), above=True)
    for finding in rest:
        line = Text.assemble(f"{marks.bullet} ", (words.plain(finding.cause), "bold"), (f" {finding.status}", "italic"))
        if words.place(finding):
            line.append(f" {words.one_line(words.place(finding))}", "cyan")
        said = finding.measured or finding.message or words.meaning(finding)
        line.append(f"  {words.one_line(said)}" if said else "")
        write(console, line)


def _curves(report: Report, console: Console, marks: Glyphs) -> None:
    if not report.curves:
        return
    write(console, Text("curves", style="bold"), above=True)
    for curve in report.curves:
        labels = " and ".join((curve.label, *curve.also))
        line = chart.sparkline(curve.values, max(10, min(40, _width(console) - 45)), unicode=marks.unicode)
        said = f"{labels}  {curve.detail}" if curve.detail else f"{labels}  {LABELS.get(curve.label, '')}"
        grid = Table.grid(padding=(0, 1))
        grid.add_column(width=LABEL, overflow="fold")
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row(Text(words.one_line(curve.series)), Text(line, "blue"), Text(words.one_line(said)))
        write(console, grid)


def _path(report: Report, console: Console, marks: Glyphs) -> None:
    if not report.path and not report.not_examined:
        return
    write(console, Text("looked at, in this order", style="bold"), above=True)
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for step in report.path:
        colour = _OUTCOME.get(step.outcome, "")
        detail = words.OUTCOME.get(step.outcome, step.outcome) + (f": {step.detail}" if step.detail else "")
        grid.add_row(Text(getattr(marks, step.outcome, marks.unexamined), colour), Text(words.plain(step.stage)),
                     Text(words.one_line(detail), colour if step.outcome == "unexamined" else ""))
    write(console, grid)
    if report.not_examined:
        write(console, Text("not looked at: " + "; ".join(map(words.one_line, report.not_examined)), style="dim"))


COLUMNS = (("activation_std", "std"), ("dead_share", "dead"), ("saturated_share", "saturated"),
           ("grad_norm", "gradient"), ("update_ratio", "update"))


def _layers(report: Report, console: Console, marks: Glyphs) -> None:
    if not report.layers:
        write(console, Text("layers: none were seen", style="dim"), above=True)
        return
    write(console, Text("layers, first value seen and last", style="bold"), above=True)
    seen = [(key, name) for key, name in COLUMNS if any(layer.values.get(key) is not None for layer in report.layers)]
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column("layer", overflow="fold", header_style="dim")
    table.add_column("kind", overflow="fold", header_style="dim")
    for _, name in seen:
        table.add_column(name, justify="right", overflow="fold", header_style="dim")
    for layer in report.layers:
        cells = [Text(first_last(layer.values.get(key), marks.arrow)) for key, _ in seen]
        table.add_row(Text(words.one_line(layer.name)), Text(words.one_line(layer.kind)), *cells)
    write(console, table)
    _gradient_flow(report, console, marks)


def _gradient_flow(report: Report, console: Console, marks: Glyphs) -> None:
    """The gradient norm over the layers at the first and the last step seen: a slope is a vanishing or exploding gradient."""
    figure = figures(report).get("gradient-flow")
    if figure is None or len(figure.ticks) < 3:
        return
    names = list(figure.curves)
    write(console, Text("gradient norm by layer, from the input to the output", style="bold"), above=True)
    curves = {name: figure.curves[name] for name in dict.fromkeys((names[0], names[-1]))}
    curves = {name: (xs, [y if y is not None and y > 0 else math.nan for y in ys]) for name, (xs, ys) in curves.items()}
    draw_plot(curves, console, marks, height=8, indent=2,
              y_label=f"{figure.quantity} ({figure.unit})", x_label="layers", colours=("cyan", "blue"))


def first_last(value, arrow: str) -> str:
    """A pair as `first→last` with two digits, a single number as itself, None as a dash."""
    if isinstance(value, dict):
        value = (value.get("first"), value.get("last"))
    if isinstance(value, (list, tuple)):
        shown = [f"{v:.2g}" if isinstance(v, (int, float)) else words.number(v) for v in value]
        return shown[0] if len(set(shown)) == 1 else arrow.join(shown)
    return f"{value:.2g}" if isinstance(value, float) else words.number(value)
