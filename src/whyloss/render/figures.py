"""The figures of a report as data: what is drawn, in which unit, and the numbers behind it. The page, the terminal and papers draw them."""

import math
from dataclasses import dataclass

from whyloss.errors import UnknownName
from whyloss.quantities import QUANTITIES
from whyloss.render import words
from whyloss.render.chart import finite, use_log
from whyloss.report import Grid, Report

SHOWN = 5        # steps of a picture over layers
GUIDE = 1e-3     # of the update ratio, Karpathy's rule of thumb
NAMES = {
    "experiment": "The experiment", "loss": "Loss", "gradient-flow": "Gradient norm by layer", "activation-std": "Activation std by layer over time",
    "dead-share": "Dead share by layer", "saturated-share": "Saturated share by layer", "update-ratio": "Update ratio by parameter",
    "weight-norm": "Weight norm by parameter", "learning-rate": "Learning-rate schedule", "memorise": "Memorising a tiny batch",
    "range-test": "Learning-rate range test",
}
_BY_LAYER = {"gradient-flow": ("grad_norm", True), "dead-share": ("dead_share", False), "saturated-share": ("saturated_share", False),
             "update-ratio": ("update_ratio", True), "weight-norm": ("weight_norm", None)}


@dataclass(frozen=True)
class Heat:
    """Cells of a picture over layers and steps. cells: (rows, columns), None where nothing was seen."""

    rows: tuple[str, ...]
    columns: tuple
    cells: tuple
    log: bool

    @property
    def reach(self) -> tuple[float, float] | None:
        drawn = [v for row in self.cells for v in finite(row) if v > 0 or not self.log]
        return (min(drawn), max(drawn)) if drawn else None


@dataclass(frozen=True)
class Figure:
    """One picture.

    curves  {label: (xs, ys)}; xs rise                       ordered  the curves follow each other in time: a sequence of colours
    ticks   names of the x values 0, 1, ... or nothing        guides   (value, text) of horizontal lines
    bands   (first, last, name) of stretches of the x axis    events   (x, text) of vertical lines
    table   head and rows of the numbers behind it
    """

    name: str
    quantity: str
    unit: str
    definition: str
    said: str
    x_name: str = "optimizer step"
    curves: dict[str, tuple] | None = None
    log_x: bool = False
    log_y: bool = False
    ordered: bool = False
    ticks: tuple[str, ...] = ()
    guides: tuple = ()
    bands: tuple = ()
    events: tuple = ()
    heat: Heat | None = None
    first_colour: int = 2

    @property
    def title(self) -> str:
        return NAMES[self.name]

    @property
    def undrawn(self) -> int:
        """Values at or below zero, which a log axis cannot show."""
        return sum(v <= 0 for _, ys in (self.curves or {}).values() for v in finite(ys)) if self.log_y else 0

    @property
    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        return _heat_table(self.heat) if self.heat else _layer_table(self) if self.ticks else _curve_table(self)


def figures(report: Report) -> dict[str, Figure]:
    """Every figure that the report has numbers for, in the order of the page."""
    made = [_experiment(report), _losses(report), _by_layer(report, "gradient-flow"), _activations(report),
            *(_by_layer(report, name) for name in ("dead-share", "saturated-share", "update-ratio", "weight-norm")),
            _rates(report), _memorise(report), _range_test(report)]
    return {figure.name: figure for figure in made if figure is not None}


def check_name(name: str) -> None:
    """Raises UnknownName, with the nearest names, for what is no figure."""
    if name not in NAMES:
        raise UnknownName("figure", str(name), NAMES)


def _defined(quantity: str) -> tuple[str, str, str]:
    known = QUANTITIES[quantity]
    return known.name, known.unit, known.definition


def _grid(report: Report, quantity: str, run: str = "main") -> Grid | None:
    return next((g for g in report.grids if g.quantity == quantity and g.run == run and g.steps), None)


def _experiment(report: Report) -> Figure | None:
    trial = next((f.trial for f in report.findings[:1] if f.trial and f.status != "note"), None)
    curves = words.arms(trial) if trial else {}
    values = [v for _, ys in curves.values() for v in ys]
    if not finite(values):
        return None
    return Figure("experiment", *_defined("loss"), "Same start, same batches, one change.", "step of the experiment", curves,
                  log_y=use_log(values), first_colour=0)


def _losses(report: Report) -> Figure | None:
    curves, bands, events = {}, (), []
    for quantity in ("loss", "val_loss"):
        grid = _grid(report, quantity)
        if grid:
            curves[quantity] = grid.steps, grid.values[0]
    for curve in report.curves:
        if curve.quantity in ("loss", "val_loss") and curve.series not in curves and len(curves) < 6:
            curves[curve.series] = curve.steps if len(curve.steps) == len(curve.values) else range(len(curve.values)), curve.values
        if curve.series == "loss" and len(curve.segments) > 1:
            bands = curve.segments
        events += [(step, f"{what} ({curve.series})") for step, what in
                   ((curve.turning_step, "turns"), (curve.first_bad_step, "first non-finite")) if step is not None]
        events += [(step, f"spike ({curve.series})") for step in curve.events[:12]]
    values = [v for _, ys in curves.values() for v in ys]
    if not finite(values):
        return None
    labels = "; ".join(f"{c.series}: {', '.join((c.label, *c.also))}" for c in report.curves if c.series in curves)
    return Figure("loss", *_defined("loss"), f"{labels}." if labels else "", curves=curves, log_y=use_log(values), bands=bands, events=tuple(events))


def _some(columns: int, most: int = SHOWN) -> list[int]:
    """First, last, and some between at ratios: what happens early happens fast."""
    if columns <= most:
        return list(range(columns))
    return sorted({0, *(round((columns - 1) ** (k / (most - 1))) for k in range(1, most))})


def _by_layer(report: Report, name: str) -> Figure | None:
    quantity, log = _BY_LAYER[name]
    grid = _grid(report, quantity) or _first_and_last(report, quantity)
    if grid is None:
        return None
    weights = [at for at, subject in enumerate(grid.subjects) if not subject.endswith("bias")]
    keep = weights or range(len(grid.subjects))
    curves = {}
    for column in _some(len(grid.steps)):
        curves[f"step {grid.steps[column]}"] = list(range(len(keep))), [grid.values[row][column] for row in keep]
    values = [v for _, ys in curves.values() for v in ys]
    if not finite(values):
        return None
    log = log if log is not None else use_log(values)
    log = log and any(v > 0 for v in finite(values))
    guides = ((GUIDE, "guide 1e-3"),) if name == "update-ratio" else ()
    parts = "weights" if weights and "." in quantity + grid.subjects[0] and quantity.endswith(("norm", "ratio")) else "layers"
    said = f"{len(keep)} {parts}, from the input to the output."
    said += f" {grid.seen[1]} were seen; evenly chosen ones are drawn." if grid.seen[1] > len(grid.subjects) else ""
    still = [grid.subjects[row] for row in keep if grid.values[row] and grid.values[row][-1] == 0] if log else []
    if still:
        said += f" Exactly 0 at the last step: {', '.join(still[:5])}{f' and {len(still) - 5} more' if len(still) > 5 else ''}."
    return Figure(name, *_defined(quantity), said, "layer, from the input to the output", curves, log_y=log, ordered=True,
                  ticks=tuple(grid.subjects[row] for row in keep), guides=guides)


def _first_and_last(report: Report, quantity: str) -> Grid | None:
    """From the table of layers, for a report that was written without grids."""
    rows = [(layer.name, layer.values[quantity]) for layer in report.layers if isinstance(layer.values.get(quantity), (list, tuple))]
    if not rows:
        return None
    return Grid(quantity, tuple(name for name, _ in rows), ("first", "last"), tuple(tuple(pair[:2]) for _, pair in rows), seen=(2, len(rows)))


def _activations(report: Report) -> Figure | None:
    grid = _grid(report, "activation_std") or _first_and_last(report, "activation_std")
    values = [v for row in grid.values for v in row] if grid else []
    if not finite(values):
        return None
    heat = Heat(grid.subjects, grid.steps, grid.values, use_log([v for v in finite(values) if v > 0]))
    thinned = f" {len(grid.steps)} of {grid.seen[0]} steps are drawn." if grid.seen[0] > len(grid.steps) else ""
    return Figure("activation-std", *_defined("activation_std"), f"{len(grid.subjects)} layers, the input at the top.{thinned}", heat=heat)


def _rates(report: Report) -> Figure | None:
    curves = {grid.subjects[0]: (grid.steps, grid.values[0]) for grid in report.grids if grid.quantity == "learning_rate" and grid.run == "main"}
    values = [v for _, ys in curves.values() for v in ys]
    if not finite(values):
        return None
    return Figure("learning-rate", *_defined("learning_rate"), "", curves=curves, log_y=use_log(values))


def _memorise(report: Report) -> Figure | None:
    arms = {name: _grid(report, "loss", f"overfit/{run}") for name, run in (("your step", "control"), ("fresh Adam", "changed"))}
    curves = {name: (grid.steps, grid.values[0]) for name, grid in arms.items() if grid}
    values = [v for _, ys in curves.values() for v in ys]
    if not finite(values):
        return None
    detail = next((p.detail for p in report.path if p.stage == "memorise"), "")
    return Figure("memorise", *_defined("loss"), f"{detail}." if detail else "", "step of the experiment", curves, log_y=use_log(values),
                  first_colour=0)


def _range_test(report: Report) -> Figure | None:
    losses, rates = _grid(report, "loss", "lr-range"), _grid(report, "sweep_rate", "lr-range")
    if not losses or not rates:
        return None
    rate = dict(zip(rates.steps, rates.values[0]))
    points = [(rate[step], value) for step, value in zip(losses.steps, losses.values[0]) if rate.get(step)]
    if not finite([y for _, y in points]):
        return None
    read = {key: _grid(report, key, "lr-range") for key in ("at_minimum", "steepest", "suggested")}
    read = {key: grid.values[0][0] for key, grid in read.items() if grid and finite(grid.values[0][:1])}
    bands = ((min(read["at_minimum"] / 30, read["steepest"]), read["at_minimum"] / 3, "interval"),) if {"at_minimum", "steepest"} <= set(read) else ()
    events = tuple((read[key], text) for key, text in (("suggested", "suggested rate"), ("at_minimum", "lowest loss")) if key in read)
    return Figure("range-test", *_defined("loss"), "One step at each learning rate, on a copy.", "learning rate",
                  {"loss": ([x for x, _ in points], [y for _, y in points])}, log_x=True, log_y=use_log([y for _, y in points]), bands=bands,
                  events=events)


# ---------------------------------------------------------------- the numbers behind a figure
def _curve_table(figure: Figure, most: int = 40):
    xs = sorted({x for points, _ in figure.curves.values() for x in points})
    xs = [xs[i] for i in sorted({round(k * (len(xs) - 1) / (most - 1)) for k in range(most)})] if len(xs) > most else xs
    known = [dict(zip(*curve)) for curve in figure.curves.values()]
    rows = [(words.number(x), *(words.number(ys.get(x)) for ys in known)) for x in xs]
    return (figure.x_name, *figure.curves), rows


def _layer_table(figure: Figure):
    columns = [ys for _, ys in figure.curves.values()]
    return ("layer", *figure.curves), [(name, *(words.number(ys[row]) for ys in columns)) for row, name in enumerate(figure.ticks)]


def _heat_table(heat: Heat):
    some = _some(len(heat.columns), 6)
    return ("layer", *(f"step {heat.columns[c]}" for c in some)), \
        [(name, *(words.number(row[c]) for c in some)) for name, row in zip(heat.rows, heat.cells)]


def level(value, reach: tuple[float, float], log: bool) -> float:
    """Where a value lies between the lowest and the highest, 0 to 1."""
    low, high = (math.log(v) if log else v for v in reach)
    value = math.log(value) if log else value
    return 0.5 if high <= low else min(1.0, max(0.0, (value - low) / (high - low)))
