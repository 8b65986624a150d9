"""The same as the command line, for a model in a notebook or a test. Everything runs on copies."""

import math
from dataclasses import dataclass, field

from whyloss.errors import BadInput
from whyloss.report import Report


class ShownReport(Report):
    """A report that prints as the terminal shows it and displays itself in notebooks."""

    def __str__(self) -> str:
        import io

        from rich.console import Console

        from whyloss.render.terminal import show
        console = Console(file=io.StringIO(), width=100, no_color=True, force_terminal=False)
        show(self, console)
        return console.file.getvalue()

    def _repr_html_(self) -> str:
        from whyloss.render import render
        import html
        return f'<iframe srcdoc="{html.escape(render(self, "html"), quote=True)}" width="100%" height="700" frameborder="0"></iframe>'


def _shown(report: Report) -> ShownReport:
    return ShownReport(**{name: getattr(report, name) for name in Report.__dataclass_fields__})


def diagnose(model, loss_fn, train, val=None, optimizer=None, *, steps: int = 200, batch_size: int = 64, budget: float = 60.0,
             experiments: bool = True, seed: int = 0) -> Report:
    """Train a copy of `model` for up to `steps` steps, watched, and walk the fixed order. The model, optimizer and random state stay as found.

    loss_fn    loss_fn(output, target), or loss_fn(model, batch) if its first parameter is called model or net
    train, val (x, y) tensors or arrays, a Dataset, a DataLoader, or any iterable of batches
    optimizer  the Optimizer in use (its class, settings and the tensors it holds are taken over), a function params -> Optimizer,
               or None for Adam 1e-3
    Raises BadInput for what cannot be used.
    """
    from whyloss.diagnosis.diagnose import diagnose as walk
    from whyloss.laboratory.lab import open_laboratory
    from whyloss.sources.probe import train_watched

    watch = train_watched(model, loss_fn, train, val, optimizer, steps=steps, batch_size=batch_size, seed=seed)
    laboratory = open_laboratory(watch.program, watch.evidence, budget=budget) if experiments else None
    return _shown(walk(watch.evidence, laboratory, experiments=experiments))


def _default_loss(y):
    import torch
    return torch.nn.functional.mse_loss if torch.as_tensor(y).is_floating_point() else torch.nn.functional.cross_entropy


@dataclass(frozen=True)
class Overfit:
    """Result of can_overfit; true when the examples were memorised.

    first, last  loss before and at the end     floor, constant  reachable floor and best constant prediction (None: not known)
    accuracy     share of right answers at the end, where the labels are classes
    """

    passed: bool
    first: float
    last: float
    floor: float | None
    constant: float | None
    accuracy: float | None
    examples: int

    def __bool__(self) -> bool:
        return self.passed


def can_overfit(model, x, y, loss_fn=None, *, examples: int = 10, budget: float = 20.0) -> Overfit:
    """Can a copy of the model memorise a few examples? Dropout and weight decay off, a ladder of Adam rates, judged against the floor."""
    from whyloss.laboratory.lab import open_laboratory
    from whyloss.sources.probe import train_watched

    watch = train_watched(model, loss_fn or _default_loss(y), (x, y), steps=2, batch_size=min(len(x), 64))
    laboratory = open_laboratory(watch.program, watch.evidence, budget=budget)
    outcome = laboratory.run("overfit", {"examples": examples})
    if outcome is None:
        raise BadInput(f"the step cannot be replayed: {laboratory.failures.get('overfit')}")
    return Overfit(**{name: outcome[name] for name in Overfit.__dataclass_fields__})


@dataclass(frozen=True)
class Start:
    """Result of check_start. loss, chance, label_entropy, expected in nats; verdict in words; true when it is as expected."""

    loss: float
    chance: float | None
    label_entropy: float | None
    expected: float | None
    verdict: str
    message: str

    def __bool__(self) -> bool:
        return self.verdict == "as expected"


def check_start(model, x, y, loss_fn=None) -> Start:
    """Is the first loss what guessing gives, for this loss and these labels? One forward pass, nothing is trained.

    expected  loss for labels that are independent of these outputs: mean(logsumexp z) - mean over samples and label shares of z.
              A loss near it and far above chance means logits that are too large; far below it, that the model knows the labels.
    """
    import torch

    from whyloss.sources import meters
    from whyloss.laboratory.sandbox import untouched

    x, y = torch.as_tensor(x), torch.as_tensor(y)
    loss_fn = loss_fn or _default_loss(y)
    modes = [part.training for part in model.modules()]
    buffers = [b.detach().clone() for b in model.buffers()]
    try:
        with untouched(), torch.no_grad():
            output = model(x)
            loss = float(loss_fn(output, y))
    finally:
        with torch.no_grad():
            for held, before in zip(model.buffers(), buffers):
                held.copy_(before)
        for part, mode in zip(model.modules(), modes):
            part.training = mode
    if y.is_floating_point() or output.dim() != 2:
        return Start(loss, None, None, None, "as expected" if math.isfinite(loss) else "not finite", f"first loss {loss:.4g}; chance is known for class labels only")
    z = output.detach().float()
    chance, entropy = math.log(z.shape[1]), meters.entropy(y)
    share = torch.bincount(y.reshape(-1), minlength=z.shape[1]).float() / y.numel()
    expected = float(torch.logsumexp(z, 1).mean() - (z @ share).mean())
    verdict, why = _judge_start(loss, chance, entropy, expected, len(y))
    return Start(loss, chance, entropy, expected, verdict, f"first loss {loss:.3f}; a uniform guess gives {chance:.3f}, these labels' entropy is {entropy:.3f}: {why}")


def _judge_start(loss: float, chance: float, entropy: float, expected: float, count: int) -> tuple[str, str]:
    slack = 0.1 * max(expected, 1.0) + 3 / math.sqrt(count)
    if not math.isfinite(loss):
        return "not finite", "the forward pass or the loss makes NaN or Inf"
    if loss < 0.8 * entropy and loss < expected - slack:
        return "knows the labels", "the model knows the labels before training: a leak, or a trained model"
    if loss > expected + slack:
        return "labels or wiring wrong", "worse than for labels drawn at random: the label map or the loss is wired wrongly"
    if expected > chance + 1.5:
        return "logits too large", "the logits are too large for a start; scale the last layer's weights down"
    return "as expected", "as expected"


@dataclass(frozen=True)
class Sweep:
    """Result of lr_sweep: the smoothed minimum, a tenth of it, the steepest point, the valley, and an interval; true when a rate learns."""

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
        return self.drop >= 0.1

    @property
    def message(self) -> str:
        return (f"try {self.suggested:.1e} (between {self.low:.1e} and {self.high:.1e}); lowest at {self.at_minimum:.1e}"
                if self else "no learning rate lowers the loss by a tenth: the rate is not what holds this training back")


def lr_sweep(model, data, loss_fn=None, *, optimizer=None, low: float = 1e-7, high: float = 10.0, steps: int = 100) -> Sweep:
    """Learning-rate range test on a copy, from `low` up. data: (x, y) or batches of (input, target)."""
    from whyloss.laboratory.lab import open_laboratory
    from whyloss.sources.probe import train_watched

    if loss_fn is None:
        loss_fn = _default_loss(data[1]) if isinstance(data, (tuple, list)) else _default_loss(next(iter(data))[1])
    watch = train_watched(model, loss_fn, data, None, optimizer, steps=40)
    laboratory = open_laboratory(watch.program, watch.evidence, budget=30)
    outcome = laboratory.run("lr-range", {"low": low, "high": high, "steps": steps})
    if outcome is None:
        raise BadInput(f"the range test was not possible: {laboratory.failures.get('lr-range')}")
    return Sweep(**{name: outcome[name] for name in Sweep.__dataclass_fields__})


@dataclass(frozen=True)
class Health:
    """Result of health: one row a parameter (grad_state, grad_norm, weight_norm, update_ratio) and one a layer."""

    parameters: dict
    layers: dict

    def __str__(self) -> str:
        lines = [f"{'parameter':<28} {'grad':<7} {'grad norm':>10} {'weight':>10} {'true update/weight':>20}"]
        for name, row in self.parameters.items():
            lines.append(f"{name:<28} {row['grad_state']:<7} {row.get('grad_norm', math.nan):>10.3g} "
                         f"{row.get('weight_norm', math.nan):>10.3g} {row.get('update_ratio', math.nan):>20.3g}")
        lines.append(f"{'layer':<28} {'std':>10} {'signal':>10} {'dead share':>12}")
        for name, row in self.layers.items():
            lines.append(f"{name:<28} {row.get('activation_std', math.nan):>10.3g} {row.get('signal', math.nan):>10.3g} {row.get('dead_share', math.nan):>12.3g}")
        return "\n".join(lines)


def health(model, loss_fn, batch, optimizer=None) -> Health:
    """One real optimizer step on a copy: .grad state, norms and the TRUE relative change of each parameter, and each layer's activations."""
    from whyloss.sources.probe import train_watched

    watch = train_watched(model, loss_fn, [batch], None, optimizer, steps=2)
    evidence = watch.evidence

    def rows(quantities, subjects):
        return {s: {q: evidence.series(q, s).values[0] for q in quantities if evidence.series(q, s)} for s in subjects}

    parameters = rows(("grad_state", "grad_norm", "weight_norm", "update_ratio"), evidence.by_subject("grad_state"))
    names = dict.fromkeys([*evidence.by_subject("activation_std"), *evidence.by_subject("dead_share")])
    return Health(parameters, rows(("activation_std", "signal", "dead_share", "saturated_share"), names))
