"""Which column of a run is what: the training loss, its terms, its validation partner, and the columns that are no loss at all."""

from dataclasses import dataclass, field

import numpy as np

from whyloss.diagnosis.reading.totals import combination, summed
from whyloss.diagnosis.reading.words import ACTOR_CRITIC, ADVERSARIAL, IDENTITY, Words, read_name, tokens
from whyloss.errors import UnknownName
from whyloss.logged import LoggedRun, LoggedSeries

REINFORCEMENT, ADVERSARIES, TABLE = "reinforcement learning", "adversarial training", "a table of finished runs"
SIDES = ({"d", "disc", "discriminator", "dis", "netd"}, {"g", "gen", "generator", "netg", "adv"})  # of a game
EPOCHS_ENOUGH = 20  # from here on the means over epochs say more than the noisy steps
MOST_TERMS = 12


@dataclass
class Roles:
    """Names of columns by what they are. train and validation are what the run is judged by; pairs: (training or None, validation), terms included.

    context    "", or why no curve of this run is a supervised loss: REINFORCEMENT, ADVERSARIES, TABLE
    combined   how the terms make the total: "sum", "mean", "weighted sum", or "" where they do not
    made       series that are not in the log: the sum of terms where no total was logged
    """

    train: str | None = None
    validation: tuple[str, ...] = ()
    pairs: tuple[tuple[str | None, str], ...] = ()
    terms: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()  # every curve that is judged as a loss
    combined: str = ""
    parts: tuple[str, ...] = ()  # what `combined` speaks of
    accuracies: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    learning_rates: tuple[str, ...] = ()
    gradient_norms: tuple[str, ...] = ()
    loss_scales: tuple[str, ...] = ()
    rewards: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    epochs: tuple[str, ...] = ()
    no_losses: dict[str, str] = field(default_factory=dict)  # name -> why
    context: str = ""
    given: bool = False  # the user named the loss
    notes: list[str] = field(default_factory=list)
    made: dict[str, LoggedSeries] = field(default_factory=dict)

    def series(self, run: LoggedRun, name: str) -> LoggedSeries:
        return self.made[name] if name in self.made else run.series[name]


def roles(run: LoggedRun, *, loss: str | None = None, val: str | None = None) -> Roles:
    """Sort the columns of a run. loss, val: names the user gave; an unknown one raises UnknownName with the nearest known."""
    words = {name: read_name(name) for name, series in run.series.items() if len(series)}
    found = Roles(given=loss is not None)
    for name, column in (
        ("accuracies", "accuracy"),
        ("errors", "error"),
        ("learning_rates", "learning-rate"),
        ("gradient_norms", "gradient-norm"),
        ("loss_scales", "loss-scale"),
        ("rewards", "reward"),
        ("times", "time"),
        ("epochs", "epoch"),
    ):
        setattr(found, name, tuple(n for n, w in words.items() if w.kind == column))
    _context(found, words, run)
    losses = _losses(found, words, run)
    _training(found, losses, run, named(run, loss, "loss"))
    _validation(found, losses, run, named(run, val, "validation loss"))
    judged = [found.train, *found.terms, *found.validation, *(v for _, v in found.pairs)]
    rest = [n for n, w in losses.items() if w.plain or w.kind != "loss"]
    found.losses = tuple(dict.fromkeys(n for n in (*judged, *rest) if n is not None and n not in found.no_losses))
    return found


def named(run: LoggedRun, name: str | None, what: str) -> str | None:
    """The column the user means: exact, else the only one equal up to case and punctuation."""
    if name is None or name in run.series:
        return name
    alike = [n for n in run.series if tokens(n) == tokens(name)]
    if len(alike) != 1:
        raise UnknownName(what, name, run.series)
    return alike[0]


def _context(found: Roles, words: dict[str, Words], run: LoggedRun) -> None:
    """Reinforcement learning, a game of two networks, or rows that are runs: their losses need not fall."""
    adversarial = {n for n, w in words.items() if w.kind == "adversarial"}
    sides = [{n for n in adversarial if set(tokens(n)) & names} for names in SIDES]
    if any(sides) and not all(sides):  # "Gen Loss" alone may be a loss of generation; beside "Disc Loss" it is not
        losses = {n for n, w in words.items() if w.kind in ("loss", "adversarial")}
        sides = [side or {n for n in losses if set(tokens(n)) & names} for side, names in zip(sides, SIDES)]
        adversarial |= set.union(*sides) if all(sides) else set()
    for name in adversarial:
        if all(sides) or set(tokens(name)) & ADVERSARIAL:
            found.no_losses[name] = "adversarial: two networks pull it in opposite directions, so it need not fall"
    for name, w in words.items():
        if w.kind == "not-a-loss":
            why = (
                "the size of an estimate that is learned while its target moves"
                if set(tokens(name)) & (ACTOR_CRITIC | {"value", "q"})
                else "a regulariser or statistic"
            )
            found.no_losses[name] = f"{why}, so it may rise in a sound run"
    plain = any(w.kind == "loss" and w.plain for w in words.values())
    actor = any(w.kind == "not-a-loss" and (set(tokens(n)) & (ACTOR_CRITIC - {"td"}) or "value" in tokens(n)) for n, w in words.items())
    said = {t for n in run.series for t in tokens(n)}
    episodes = "episode" in said or "episodes" in said or any(s.step_unit.startswith("episode") for s in run.series.values())
    if actor or found.rewards or episodes and said & {"score", "scores", "epsilon", "eps"}:
        found.context = REINFORCEMENT
    elif all(sides) or adversarial & set(found.no_losses) and not plain:
        found.context = ADVERSARIES
    elif _is_table(run):
        found.context = TABLE


def _is_table(run: LoggedRun) -> bool:
    """Rows counted because the log has no step, and a column that numbers runs, folds or models."""
    if not run.series or any(s.step_unit != "row" for s in run.series.values()):
        return False
    if any(read_name(n).kind in ("epoch", "step") for n in run.series):
        return False
    return any(set(tokens(n)) & IDENTITY and read_name(n).kind == "other" and np.unique(s.values).size > 2 for n, s in run.series.items())


def _losses(found: Roles, words: dict[str, Words], run: LoggedRun) -> dict[str, Words]:
    """Columns that can be a loss: those called so; else errors; else the one curve there is."""
    losses = {n: w for n, w in words.items() if w.kind in ("loss", "adversarial") and n not in found.no_losses}
    for split in ({"validation"}, {"train", ""}):
        if any(w.plain for w in losses.values() if w.split in split):  # mean squared error beside a loss is a metric
            metrics = [n for n, w in losses.items() if w.split in split and not w.plain and w.kind == "loss" and "cross" not in tokens(n)]
            losses = {n: w for n, w in losses.items() if n not in metrics}
            found.errors += tuple(metrics)
    if not losses and not found.context:
        losses = {n: words[n] for n in found.errors}
        found.notes += ["no column is called a loss: the error is read in its place"] * bool(losses)
    if not losses and not found.context:  # "total=3.48 depth=1.14 seg=1.65 normal=0.68"
        others = {n: w for n, w in words.items() if w.kind == "other" and len(run.series[n]) >= 3}
        total = next((n for n in others if tokens(n) in (("total",), ("sum",))), None)
        parts = [run.series[n] for n in others if n != total]
        if total is not None and len(parts) > 1 and combination(run.series[total], parts) == "sum":
            losses = {n: others[n] for n in others}
            found.notes.append(f"no column is called a loss: {total} is read as one, for it is the sum of the others")
    if not losses and not found.context:  # "train 0.31 | valid 0.42 | acc 88.1%"
        losses = {n: w for n, w in words.items() if w.kind == "other" and w.split and not w.topic and len(run.series[n]) >= 3}
        if losses and not all((run.series[n].values >= 0).all() or np.isnan(run.series[n].values).any() for n in losses):
            losses = {}
        found.notes += [f"no column is called a loss: {', '.join(losses)} are read as losses (say --loss NAME if they are not)"] * bool(losses)
    if not losses and not found.context:
        others = [n for n, w in words.items() if w.kind == "other" and len(run.series[n]) >= 5]
        if len(others) == 1:
            losses = {others[0]: words[others[0]]}
            found.notes.append(
                f"no column is called a loss: {others[0]!r} is read as one because it is the only curve (say --loss NAME if it is not)"
            )
    return losses


def _best(names, words, run, first=None) -> str | None:
    """The name that speaks for all: no topic, said split, means over epochs where there are enough of them, most points."""
    epochs = max((len(run.series[n]) for n in names if words[n].grain == "epoch"), default=0)
    most = max((len(run.series[n]) for n in names), default=0)

    def rank(n):
        size, w = len(run.series[n]), words[n]
        grain = w.grain == "epoch" if epochs >= EPOCHS_ENOUGH else w.grain != "epoch"
        return (size >= min(5, most), bool(first and set(tokens(n)) & first), grain, size * 20 >= most, w.split != "", size)

    return max(names, key=rank, default=None)


def _training(found: Roles, losses: dict[str, Words], run: LoggedRun, given: str | None) -> None:
    mine = [n for n, w in losses.items() if w.split != "validation"]
    wholes, parts = [n for n in mine if not losses[n].topic], [n for n in mine if losses[n].topic]
    found.train = given or _best(wholes, losses, run)
    grains = {losses[n].grain for n in parts}
    keep = losses[found.train].grain if found.train in losses else max(grains, key=lambda g: (g == "epoch", g), default="")
    parts = [n for n in parts if losses[n].grain == keep and n != found.train] or [n for n in parts if n != found.train]
    parts = parts[:MOST_TERMS]
    if found.train is None and len(parts) > 1:
        total = next((n for n in parts if combination(run.series[n], [run.series[p] for p in parts if p != n]) == "sum"), None)
        found.train, parts = total, [n for n in parts if n != total]
        if total is None:
            made = summed([run.series[n] for n in parts])
            if made is not None:
                found.train, found.made[made.name] = made.name, made
                found.notes.append("no total was logged: the training loss is read as the sum of its terms")
    found.train = found.train or _best(parts, losses, run)
    found.terms = tuple(n for n in parts if n != found.train)
    if found.train in run.series and found.terms:
        # a divergence or an entropy is a term of the total, though it is no loss that must fall
        added = (
            [n for n in found.no_losses if read_name(n).split == losses[found.train].split and len(run.series[n]) == len(run.series[found.train])]
            if found.train in losses
            else []
        )
        found.parts = (*found.terms, *added)
        found.combined = combination(run.series[found.train], [run.series[n] for n in found.parts])


def _validation(found: Roles, losses: dict[str, Words], run: LoggedRun, given: str | None) -> None:
    """Validation losses with their training partners. Loss terms pair by topic; sets with other names each pair with the whole."""
    mine = [n for n, w in losses.items() if w.split == "validation"]
    topics = {losses[n].topic: n for n in found.terms if n in losses}
    term_pairs = [(topics[losses[n].topic], n) for n in mine if losses[n].topic and losses[n].topic in topics]
    wholes = [n for n in mine if not losses[n].topic]
    whole = given or _best(wholes, losses, run, {"val", "valid", "validation", "eval", "dev"})
    if whole:
        found.validation = (whole,)
    elif term_pairs:
        made = summed([run.series[v] for _, v in term_pairs]) if len(term_pairs) > 1 else None
        found.validation = (made.name if made else term_pairs[0][1],)
        found.made |= {made.name: made} if made else {}
    else:
        sets: dict = {}
        for n in mine:
            sets.setdefault(losses[n].topic, []).append(n)
        found.validation = tuple(_best(names, losses, run) for names in sets.values())
    found.pairs = (*((found.train, v) for v in found.validation), *(p for p in term_pairs if p[1] not in found.validation))
