"""How a run is doing, layer by layer: one row a layer, what stands out, what was told. Guides are shown as guides, not as verdicts."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from whyloss.evidence import Evidence, Series
from whyloss.finding import Finding
from whyloss.render import chart, words
from whyloss.render.json import dumps
from whyloss.render.terminal import glyphs, write

MOST_ROWS = 40    # on a screen
EVENTS = 10       # newest ones
STANDS_OUT = 8
FAR = 1000.0      # times the median layer's gradient norm: layers of a healthy network differ by less than that
CHANGED = 30.0    # times the layer's own median over the run
HISTORY = 8       # points that a median needs


@dataclass(frozen=True)
class Guide:
    """Where a quantity usually lies in trainings that learn, and who says so."""

    low: float | None
    high: float | None
    source: str

    def side(self, value: float | None) -> str:
        """"low", "high" or "" """
        if value is None or math.isnan(value):
            return ""
        return "low" if self.low is not None and value < self.low else "high" if self.high is not None and value > self.high else ""


MODULE = ("activation_std", "dead_share")
PARAMETER = ("grad_norm", "weight_norm", "update_ratio")
TITLES = {"activation_std": "std", "dead_share": "dead", "grad_norm": "gradient", "weight_norm": "weights", "update_ratio": "update"}
GUIDES = {
    "activation_std": Guide(0.1, 10.0, "of order 1 where the initialisation keeps the variance (Glorot 2010, He 2015)"),
    "dead_share": Guide(None, 0.5, "ReLU units that are 0 for a whole batch; most networks keep well below half (CS231n)"),
    "update_ratio": Guide(1e-4, 1e-2, "true change over weight norm, about 1e-3 (CS231n; Karpathy)"),
}


Curve = tuple[np.ndarray, np.ndarray]  # steps, values


@dataclass
class Row:
    """One layer. values: quantity -> the latest; outside: quantity -> low or high; trend: of one quantity over the run."""

    name: str
    values: dict[str, float | None] = field(default_factory=dict)
    outside: dict[str, str] = field(default_factory=dict)
    trend: list[float] = field(default_factory=list)
    curves: dict[str, Curve] = field(default_factory=dict, repr=False)


@dataclass
class Health:
    """A run at a glance. state: how it goes on, in words; about: what was read, in words."""

    path: str
    rows: list[Row]
    loss: Series
    state: str = ""
    about: str = ""
    finished: bool = True
    trend_of: str = "grad_norm"
    noticed: list[str] = field(default_factory=list)
    events: list[dict] = field(default_factory=list)
    step: int | None = None
    findings: list[Finding] = field(default_factory=list)   # of the checks that compare ranks

    def as_dict(self) -> dict:
        last = self.loss.values[-1] if self.loss else None
        return {"path": self.path, "state": self.state, "finished": self.finished, "read": self.about, "step": self.step,
                "loss": {"first": self.loss.values[0] if self.loss else None, "last": last},
                "layers": [{"name": row.name, **row.values, "outside_guide": row.outside, "trend": row.trend} for row in self.rows],
                "trend_of": self.trend_of, "noticed": self.noticed, "events": self.events,
                "between_ranks": [{"cause": f.cause, "status": f.status, "subject": f.subject, "step": f.step,
                                   "location": str(f.location) if f.location else None, "measured": f.measured, "message": f.message}
                                  for f in self.findings],
                "guides": {name: {"low": guide.low, "high": guide.high, "source": guide.source} for name, guide in GUIDES.items()}}


# ---------------------------------------------------------------------- evidence -> rows
def health(evidence: Evidence, path: str, *, run: str = "main", trend: str | None = None, parameters: bool = False, told: Iterable[dict] = (),
           **about) -> Health:
    """The table of a run. trend: the quantity whose course is drawn; parameters: a row a parameter in place of a layer."""
    rows = _rows(evidence, run, parameters)
    if trend is None:
        trend = next((q for q in (*PARAMETER, *MODULE) if any(q in row.curves for row in rows)), "grad_norm")
    for row in rows:
        row.values = {q: float(values[-1]) for q, (_, values) in row.curves.items()}
        row.outside = {q: side for q, guide in GUIDES.items() if (side := guide.side(row.values.get(q)))}
        row.trend = chart.thin(row.curves[trend][1].tolist(), 40) if trend in row.curves else []
    loss = evidence.series("loss", run=run) or next(iter(evidence.by_subject("loss", run).values()), evidence.series("loss", run=run))
    steps = [column.steps[-1] for (name, _, _), column in evidence.columns() if name == run and column]
    return Health(path, rows, loss, trend_of=trend, noticed=[*_apart(evidence, run), *_stand_out(rows)][:STANDS_OUT], events=list(told)[-EVENTS:],
                  step=max(steps, default=None), **about)


def _rows(evidence: Evidence, run: str, parameters: bool) -> list[Row]:
    """Layers in the order in which they were first seen."""
    rows: dict[str, Row] = {}
    owned: dict[str, list[str]] = {}
    for (name, quantity, subject), _ in evidence.columns():
        if name == run and quantity in PARAMETER and subject != "run":
            layer = subject if parameters else subject.rpartition(".")[0] or subject
            rows.setdefault(layer, Row(layer))
            if subject not in owned.setdefault(layer, []):
                owned[layer].append(subject)
        elif name == run and quantity in MODULE and not parameters:
            rows.setdefault(_layer_of(evidence, subject, run), Row(_layer_of(evidence, subject, run)))
    for layer, names in owned.items():
        rows[layer].curves.update(_of_parameters(evidence, names, run))
    if not parameters:
        for quantity in MODULE:
            for subject, column in evidence.by_subject(quantity, run).items():
                curve = _numbers(column)
                if len(curve[0]):
                    rows[_layer_of(evidence, subject, run)].curves.setdefault(quantity, curve)
    return _beside([row for row in rows.values() if row.curves])


def _beside(rows: list[Row]) -> list[Row]:
    """A part that was first seen after others of the model, as a function that a module calls is, comes behind those of its own module."""
    found, known = [], set()
    for row in rows:
        inside = row.name.rpartition(".")[0] + "."
        behind = len(found)
        if inside != "." and inside in known and not found[-1].name.startswith(inside):
            behind = next(at + 1 for at in reversed(range(len(found))) if found[at].name.startswith(inside))
        found.insert(behind, row)
        known.add(inside)
    return found


def _layer_of(evidence: Evidence, subject: str, run: str) -> str:
    """An activation belongs to the layer whose units it lets through."""
    made = evidence.fact("activation_layer", subject, run)
    return made if isinstance(made, str) and made else subject.split(":")[0]


def _of_parameters(evidence: Evidence, names: list[str], run: str) -> dict[str, Curve]:
    """Norms of a layer's parameters together: the root of the added squares; its update over its weights likewise."""
    held = {q: {name: curve for name in names if len((curve := _numbers(evidence.series(q, name, run)))[0])} for q in PARAMETER}
    found = {q: _added(list(held[q].values())) for q in ("grad_norm", "weight_norm")}
    moved = {}
    for name, ratio in held["update_ratio"].items():
        if name in held["weight_norm"]:
            (steps, ratios), (_, weights) = _at_the_same_steps([ratio, held["weight_norm"][name]])
            moved[name] = steps, ratios * weights
    if moved:
        (steps, changes), (_, weights) = _at_the_same_steps([_added(list(moved.values())), _added([held["weight_norm"][name] for name in moved])])
        there = weights > 0
        found["update_ratio"] = steps[there], changes[there] / weights[there]
    elif held["update_ratio"]:  # the weight norms are not known: the weights move more tellingly than the biases
        found["update_ratio"] = held["update_ratio"][max(held["update_ratio"], key=lambda name: (name.endswith("weight"), name))]
    return {q: curve for q, curve in found.items() if len(curve[0])}


def _added(curves: list[Curve]) -> Curve:
    """Root of the sum of squares at the steps that all have."""
    if not curves:
        return np.zeros(0, np.int64), np.zeros(0)
    same = _at_the_same_steps(curves)
    with np.errstate(over="ignore", invalid="ignore"):
        return same[0][0], np.sqrt(sum(values ** 2 for _, values in same))


def _at_the_same_steps(curves: list[Curve]) -> list[Curve]:
    """Each curve at the steps that all have, each once."""
    if all(np.array_equal(curves[0][0], steps) for steps, _ in curves[1:]):
        return curves
    common = curves[0][0]
    for steps, _ in curves[1:]:
        common = np.intersect1d(common, steps)
    return [(common, values[np.unique(steps, return_index=True)[1]][np.isin(np.unique(steps), common)]) for steps, values in curves]


def _numbers(column: Series) -> Curve:
    try:
        return np.array(column.steps, np.int64), np.array(column.values, float)
    except (TypeError, ValueError):  # not only numbers
        pairs = [(step, float(value)) for step, value in zip(column.steps, column.values) if isinstance(value, (int, float))]
        return np.array([step for step, _ in pairs], np.int64), np.array([value for _, value in pairs])


def _stand_out(rows: list[Row]) -> list[str]:
    """Layers unlike the others, or unlike themselves earlier in this run."""
    found = []
    for row in rows:
        for quantity, (steps, values) in row.curves.items():
            if not np.isfinite(values).all():
                bad = int(np.flatnonzero(~np.isfinite(values))[0])
                found.append((math.inf, f"{row.name}: {quantity} is {words.number(float(values[bad]))} at step {steps[bad]}"))
    now = [row.values["grad_norm"] for row in rows if row.values.get("grad_norm") and math.isfinite(row.values["grad_norm"])]
    middle = float(np.median(now)) if len(now) > 2 else 0.0
    for row in rows:
        gradient = row.values.get("grad_norm")
        if middle and gradient is not None and math.isfinite(gradient) and not middle / FAR <= gradient <= middle * FAR:
            found.append(_far(row.name, "gradient norm", gradient, middle, "of the layers here"))
        for quantity in (*PARAMETER, "activation_std"):
            values = row.curves[quantity][1] if quantity in row.curves else np.zeros(0)
            values = values[np.isfinite(values)]
            median = float(np.median(values)) if len(values) >= HISTORY else 0.0
            if median > 0 and not median / CHANGED <= values[-1] <= median * CHANGED:
                found.append(_far(row.name, quantity, float(values[-1]), median, "of this layer over the run"))
    return [text for _, text in sorted(found, key=lambda pair: -pair[0])]


def _far(name: str, quantity: str, value: float, median: float, whose: str) -> tuple[float, str]:
    if value <= 0:
        return math.inf, f"{name}: {quantity} is 0, the median {whose} is {words.number(median)}"
    times = max(value / median, median / value)
    side = "above" if value > median else "below"
    return times, f"{name}: {quantity} {words.number(value)} is {times:.3g} times {side} the median {whose}"


def _apart(evidence: Evidence, run: str) -> list[str]:
    """From which step on ranks hold different numbers."""
    found = []
    for quantity, column in evidence.by_subject("ranks_apart", run).items():
        first = next((o for o in column if o.value["differ"]), None)
        if first:
            found.append(f"{quantity} differs between ranks since step {first.step}: rank {first.value['rank']}, {first.value['parameter']}, "
                         f"by {first.value['apart']:.2g}")
    return found


# ---------------------------------------------------------------------- on a terminal
def show(health: Health, console: Console, *, everything: bool = False) -> None:
    """Print the run at a glance."""
    marks = glyphs(console)
    dot = " · " if marks.unicode else ", "
    head = [words.one_line(part) for part in (f"step {health.step}" if health.step is not None else "", health.about, health.state) if part]
    write(console, Text(f"whyloss health {words.one_line(words.file(health.path))}", "bold"), indent=0, above=True)
    write(console, Text(dot.join(head), "dim"))
    if health.loss:
        values = _numbers(health.loss)[1].tolist()
        width = max(10, min(40, console.width - 40))
        if values:
            write(console, Text.assemble("loss  ", f"{words.number(values[0])} {marks.arrow} {words.number(values[-1])}  ",
                                         (chart.sparkline(values, width, unicode=marks.unicode), "blue")))
    if health.rows:
        _table(health, console, marks, everything)
    else:
        write(console, Text("no layer was measured yet" if not health.finished else "no layer was measured"), above=True)
    between = [f"{f.status}: {f.cause}{f' ({f.location})' if f.location else ''}: {f.message} {f.measured}" for f in health.findings]
    for title, lines in (("between ranks", between), ("stands out", health.noticed), ("told", [_event(event) for event in health.events])):
        if lines:
            write(console, Text(title, style="bold"), above=True)
            for line in lines:
                write(console, Text(f"{marks.bullet} {words.one_line(line)}"))


def _table(health: Health, console: Console, marks, everything: bool) -> None:
    seen = [q for q in TITLES if any(q in row.values for row in health.rows)]
    shown = chosen(health.rows, len(health.rows) if everything else MOST_ROWS)
    table = Table(box=None, padding=(0, 1 if console.width < 100 else 2, 0, 0), pad_edge=False, show_edge=False)
    longest = min(max(len(words.one_line(row.name)) for row in shown), max(12, console.width - 60))
    table.add_column("layer", overflow="fold", header_style="dim", min_width=longest)
    for quantity in seen:
        table.add_column(TITLES[quantity], justify="right", header_style="dim", no_wrap=True)
    table.add_column(f"{TITLES.get(health.trend_of, health.trend_of)} over the run", header_style="dim", no_wrap=True)
    table.add_row(Text("guide", "dim italic"), *(Text(_guide(q), "dim italic") for q in seen), "")
    width = max(8, min(24, console.width - longest - 11 * len(seen) - 4))
    for row in shown:
        cells = [_cell(row, quantity, marks.unicode) for quantity in seen]
        table.add_row(Text(words.one_line(row.name)), *cells, Text(chart.sparkline(row.trend, width, unicode=marks.unicode), "blue"))
    write(console, table, above=True)
    if len(shown) < len(health.rows):
        write(console, Text(f"and {len(health.rows) - len(shown)} more layers; --all shows them", style="dim"))
    if any(row.outside for row in health.rows):
        up, down = ("↑", "↓") if marks.unicode else (">", "<")
        write(console, Text(f"{up} {down} outside the guide, which is no fault by itself: many trainings that learn are. "
                            "Compare with the run's own past.", style="dim"))


def chosen(rows: list[Row], most: int) -> list[Row]:
    """Of many layers those outside a guide first, then evenly spread ones; in their own order."""
    if len(rows) <= most:
        return rows
    outside = [i for i, row in enumerate(rows) if row.outside][:most // 2]
    rest = [i for i in range(len(rows)) if i not in set(outside)]
    spread = [rest[i] for i in np.unique(np.linspace(0, len(rest) - 1, most - len(outside)).round().astype(int))]
    return [rows[i] for i in sorted({*outside, *spread})]


def _guide(quantity: str) -> str:
    guide = GUIDES.get(quantity)
    if guide is None:
        return ""
    if quantity == "dead_share":
        return f"<{_percent(guide.high)}"
    return "..".join(f"{value:.0e}".replace("e-0", "e-") if value < 0.1 else f"{value:g}" for value in (guide.low, guide.high))


def _percent(value: float) -> str:
    return f"{100 * value:.0f}%"


def _cell(row: Row, quantity: str, unicode: bool) -> Text:
    value = row.values.get(quantity)
    if value is None:
        return Text("-", "dim")
    if not math.isfinite(value):
        return Text(words.number(value), "red")
    shown = _percent(value) if quantity == "dead_share" else f"{value:.2g}" if value < 1 else f"{value:.3g}"
    side = row.outside.get(quantity)
    if not side:
        return Text(shown)
    return Text(f"{shown} {dict(low='↓', high='↑')[side] if unicode else dict(low='<', high='>')[side]}", "yellow")


def _event(event: dict) -> str:
    """One line of what was told."""
    data = event.get("data")
    if isinstance(data, dict):
        said = data.get("message") or ", ".join(f"{key} {words.number(v) if isinstance(v, (int, float)) else v}" for key, v in data.items())
    else:
        said = str(data)
    return f"step {event.get('step')}  {event.get('kind')}  {said}"


def render(health: Health, *, indent: int | None = 2) -> str:
    """As strict JSON text, with a line break at its end."""
    return dumps(health.as_dict(), indent=indent) + "\n"
