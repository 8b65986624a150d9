"""whyloss.diagnose and four small questions, for a model in a notebook or a test. Everything runs on copies.

loss_fn is called loss_fn(output, target), or loss_fn(model, batch) if its first parameter is called model, net, network
or module (or its second one batch). Left out, it is cross-entropy for integer targets (with one output per sample:
binary cross-entropy on logits) and the mean squared error for numbers.
"""

import contextlib
import html
import io
import math
import sys
from dataclasses import dataclass, field, fields

from whyloss.errors import BadInput, CannotReplay
from whyloss.report import Report

LEARNS = 0.1  # share of the first loss that the best rate of a sweep must take off


class ShownReport(Report):
    """A report that prints as the terminal shows it, and shows itself in a notebook."""

    def __str__(self) -> str:
        from whyloss.render.terminal import show

        return _printed(lambda console: show(self, console))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from whyloss.render import render

        page = html.escape(render(self, "html"), quote=True)
        return f'<iframe srcdoc="{page}" sandbox="" width="100%" height="640" style="border: 0"></iframe>'


def shown(report: Report) -> ShownReport:
    """The same report, with a face."""
    return ShownReport(**{part.name: getattr(report, part.name) for part in fields(Report)})


def _printed(draw, width: int = 100) -> str:
    """Text of what `draw` prints on a console."""
    from rich.console import Console

    console = Console(file=io.StringIO(), width=width, no_color=True, force_terminal=False, legacy_windows=False)
    draw(console)
    return console.file.getvalue()


def diagnose(model, loss_fn, train, val=None, optimizer=None, *, steps: int = 200, batch_size: int = 64,
             budget: float = 60, experiments: bool = True, seed: int = 0, device=None) -> Report:
    """Train a copy of `model` for up to `steps` steps, watched, and say why it does not learn. Prints itself.

    loss_fn      loss_fn(output, target); or loss_fn(model, batch) if its first parameter is called model, net, network
                 or module, or its second one batch
    train, val   (x, y) tensors or arrays, a Dataset, a DataLoader, or an iterable of batches: (input, target), or
                 anything that loss_fn(model, batch) understands
    optimizer    the Optimizer in use (the copy gets its class, settings, state, and the tensors it really holds), a
                 function params -> Optimizer, or None for Adam at 1e-3
    budget       seconds for all experiments together
    device       where the copy trains; None: where the model is
    The model, the optimizer, every .grad, the modes and all random states stay as they were. Raises BadInput.
    """
    from whyloss.sources.probe import train_watched

    watch = train_watched(model, loss_fn, train, val, optimizer, steps=steps, batch_size=batch_size, seed=seed,
                          device=device).watch
    return judged(watch, budget=budget, experiments=experiments)


def judged(watch, *, budget: float = 60, experiments: bool = True) -> ShownReport:
    """The report on a training that was watched in this process."""
    from whyloss.cli.finish import Progress
    from whyloss.diagnosis.diagnose import diagnose as walk

    if not experiments:
        return shown(walk(watch.evidence, None, experiments=False))
    with _laboratory(watch, budget, Progress() if sys.stderr is sys.__stderr__ else None) as laboratory:
        return shown(walk(watch.evidence, laboratory))


@contextlib.contextmanager
def _laboratory(watch, budget: float, progress=None):
    """A laboratory over what was watched; what the model prints while it is replayed is not shown."""
    from whyloss.laboratory.lab import open_laboratory
    from whyloss.sources.attach import _silence
    from whyloss.sources.probe import as_found

    try:
        with as_found(), _silence():
            yield open_laboratory(watch.program, watch.evidence, budget=budget, progress=progress)
    finally:
        if progress is not None:
            progress.clear()


def _asked(watch, experiment: str, asks: dict, budget: float) -> dict:
    """Outcome of one experiment. Raises CannotReplay with the reason where it was not possible."""
    with _laboratory(watch, budget) as laboratory:
        outcome = laboratory.run(experiment, asks)
    if outcome is None:
        raise CannotReplay(f"{experiment} is not possible here: {laboratory.failures.get(experiment)}")
    return outcome


# ---------------------------------------------------------------------- can it memorise?
@dataclass(frozen=True)
class Overfit:
    """Result of can_overfit; true when the examples were memorised.

    first, last      loss before, and the lowest at the end       examples  how many were used
    floor, constant  what free outputs, and the best constant, reach with this loss; None where not known
    accuracy         share of right answers at the end, for class labels
    rate             learning rate of the ladder's rung that is shown       losses  its curve
    """

    passed: bool
    first: float
    last: float
    floor: float | None
    constant: float | None
    accuracy: float | None
    examples: int
    rate: float
    losses: tuple = field(default=(), repr=False)

    def __bool__(self) -> bool:
        return self.passed

    @property
    def message(self) -> str:
        word = "memorised" if self.passed else "not memorised"
        said = f"{self.examples} examples {word}: loss {self.first:.4g} to {self.last:.4g}"
        if self.floor is not None and self.constant is not None:
            said += f" (floor {self.floor:.4g}, best constant {self.constant:.4g})"
        if not self.passed:
            said += "; the fault is in the model, the loss or the data, not in the settings: whyloss.diagnose names it"
        return said

    def __str__(self) -> str:
        return self.message


def can_overfit(model, x, y, loss_fn=None, *, examples: int = 10, budget: float = 20) -> Overfit:
    """Can a copy of the model memorise a few examples? Dropout and weight decay off, a ladder of Adam rates, judged
    against the loss's own floor. The examples are chosen so that as many label values as possible occur.

    Raises BadInput, and CannotReplay where the step cannot be run again.
    """
    from whyloss.sources.defaults import loss_for
    from whyloss.sources.probe import train_watched

    size = min(len(x), max(64, 2 * examples))
    watch = train_watched(model, loss_fn or loss_for(y), (x, y), steps=1, batch_size=size).watch
    outcome = _asked(watch, "overfit", {"examples": examples, "steps": 240}, budget)
    wanted = {part.name for part in fields(Overfit)} - {"losses"}
    return Overfit(losses=tuple(outcome["changed"]), **{name: outcome[name] for name in wanted})


# ---------------------------------------------------------------------- is the start reasonable?
@dataclass(frozen=True)
class Start:
    """Result of check_start; true when it is as expected.

    chance         loss of a uniform guess over the classes, ln C; for numbers: of predicting their mean
    label_entropy  loss of the best constant guess for these labels; None for numbers
    expected       loss of these outputs for labels that have nothing to do with them
    """

    loss: float
    chance: float | None
    label_entropy: float | None
    expected: float | None
    verdict: str
    message: str

    def __bool__(self) -> bool:
        return self.verdict == "as expected"

    def __str__(self) -> str:
        return f"{self.verdict}: {self.message}"


def check_start(model, x, y, loss_fn=None) -> Start:
    """Is the first loss what guessing gives, for this loss and these labels? One forward pass of a copy.

    verdict  as expected | knows the labels | logits too large | labels or wiring wrong | outputs are probabilities |
             another loss | outputs too large | targets not normalised | not finite
    Raises BadInput.
    """
    from whyloss.sources.start import read_start

    return Start(**read_start(model, x, y, loss_fn))


# ---------------------------------------------------------------------- which learning rate?
@dataclass(frozen=True)
class Sweep:
    """Result of lr_sweep; true when some rate learns.

    at_minimum  rate of the lowest smoothed loss      suggested  a tenth of it      steepest, valley  two other readings
    low, high   an interval to try                    drop       share of the first loss that the best rate takes off
    """

    at_minimum: float
    suggested: float
    steepest: float
    valley: float
    low: float
    high: float
    drop: float
    rates: list = field(repr=False)
    losses: list = field(repr=False)

    def __bool__(self) -> bool:
        return self.drop >= LEARNS

    @property
    def message(self) -> str:
        if not self:
            return f"no learning rate lowers the loss by {LEARNS:.0%}: the rate is not what holds this training back"
        if self.at_minimum >= 0.5 * self.rates[-1] and self.losses[-1] <= 1.1 * min(self.losses):
            return f"the loss still falls at the highest rate tried, {self.rates[-1]:.1e}: sweep further up (high=...)"
        return (f"try {self.suggested:.1e}, between {self.low:.1e} and {self.high:.1e}; the loss is lowest at "
                f"{self.at_minimum:.1e}, where training is already close to unstable")

    def __str__(self) -> str:
        from whyloss.render.terminal import draw_plot, glyphs, write

        def draw(console):
            write(console, self.message)
            draw_plot({"": (self.rates, self.losses)}, console, glyphs(console), log_x=True, indent=2,
                      x_label="learning rate")
        return _printed(draw, 90)


def lr_sweep(model, data, loss_fn=None, *, optimizer=None, low: float = 1e-7, high: float = 10.0, steps: int = 100,
             batch_size: int = 64) -> Sweep:
    """Learning-rate range test on a copy: the rate grows by the same factor each step, from `low` to `high`.

    data       (x, y), a Dataset, a DataLoader or batches       optimizer  as for diagnose; None for Adam
    Raises BadInput, and CannotReplay where the steps cannot be run again.
    """
    from whyloss.sources.defaults import any_loss
    from whyloss.sources.probe import train_watched

    if not 0 < low < high or steps < 20:
        raise BadInput(f"low={low:g}, high={high:g}, steps={steps}: 0 < low < high and at least 20 steps are needed")
    watch = train_watched(model, loss_fn or any_loss, data, None, optimizer, steps=min(40, steps),
                          batch_size=batch_size).watch
    outcome = _asked(watch, "lr-range", {"low": low, "high": high, "steps": steps}, 30)
    return Sweep(**{part.name: outcome[part.name] for part in fields(Sweep)})


# ---------------------------------------------------------------------- one step, measured
@dataclass(frozen=True)
class Health:
    """Result of health; prints as two tables.

    parameters  name -> {"grad": none, zero, finite, nan or inf, "grad_norm", "weight_norm", "update_ratio"}
    layers      name -> {"activation_std", "signal", "dead_share", "saturated_share"}, where they apply
    The update ratio is |change of the weights| / |weights| of one real step, None where the weights were zero; signal
    is the std between samples, averaged over units: what is left of the input.
    """

    loss: float
    parameters: dict
    layers: dict

    def __str__(self) -> str:
        from rich.table import Table
        from rich.text import Text

        from whyloss.render.words import one_line

        def table(head: str, columns: dict, rows: dict):
            drawn = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
            drawn.add_column(head, overflow="fold")
            for title in columns.values():
                drawn.add_column(title, justify="right")
            for name, row in rows.items():
                drawn.add_row(Text(one_line(name)), *[_cell(row.get(key)) for key in columns])
            return drawn

        def draw(console):
            console.print(table("parameter", {"grad": "grad", "grad_norm": "grad norm", "weight_norm": "weight norm",
                                              "update_ratio": "update/weight"}, self.parameters))
            console.print()
            console.print(table("layer", {"activation_std": "std", "signal": "between samples", "dead_share": "dead",
                                          "saturated_share": "saturated"}, self.layers))
        return _printed(draw)


def _cell(value) -> str:
    return "-" if value is None else value if isinstance(value, str) else f"{value:.3g}"


def health(model, loss_fn, batch, optimizer=None) -> Health:
    """One real step on a copy: state and norm of every .grad, the true relative change of every parameter, and what
    each layer lets through. loss_fn and optimizer as for diagnose. Raises BadInput."""
    from whyloss.sources.probe import changes, train_watched

    probed = train_watched(model, loss_fn, [batch], None, optimizer, steps=1)
    evidence = probed.watch.evidence
    layers: dict[str, dict] = {}
    for quantity in ("activation_std", "signal", "dead_share", "saturated_share"):
        for name, series in evidence.by_subject(quantity).items():
            layers.setdefault(name, {})[quantity] = float(series.first.value)
    first = evidence.series("loss")
    return Health(float(first.first.value) if first else math.nan, changes(model, probed.model), layers)
