"""Does a column alone give the label away, in training only? Judged on rows of the evaluation, by a training without it."""

import math

import torch

from whyloss.errors import CannotReplay
from whyloss.laboratory.bench import Bench, z_of_shares
from whyloss.laboratory.experiments.encoding import mean_of_own_labels
from whyloss.laboratory.experiments.pairs import features
from whyloss.laboratory.lab import experiment
from whyloss.laboratory.sandbox import Plan, Rehearsal

BINS = 16
PERFECT = 0.9    # of the way from the most frequent label to always right
FEWER = 0.5      # of that way is lost on new rows
ENCODED = 0.2    # of the way is enough for a column that was computed from the labels: the mean label of a group of few rows
PURE, ROWS = 0.1, 8   # share of the rows at values that have one label alone; rows such a value has at least


def table(column: torch.Tensor, labels: torch.Tensor, classes: int):
    """(edges, label of each bin) of a one-column predictor: values themselves where they are few, else quantiles."""
    values = column.unique()
    edges = (values[1:] + values[:-1]) / 2 if len(values) <= 2 * BINS else \
        column.quantile(torch.linspace(0, 1, BINS + 1, device=column.device)[1:-1]).unique()
    counts = torch.zeros(len(edges) + 1, classes, device=column.device)
    counts.index_put_((torch.bucketize(column, edges), labels), torch.ones(len(labels), device=column.device), accumulate=True)
    return edges, counts.argmax(1)


def encoded(column: torch.Tensor, labels: torch.Tensor) -> bool:
    """Whether a column looks like labels averaged over groups that hold the row itself: values that many rows share, some of them with one
    label alone, of each label there is, and others mixed. What is known beforehand leaves labels some chance at every value."""
    values, where, rows = column.unique(return_inverse=True, return_counts=True)
    if len(values) < 6 or len(values) > len(column) / 3:
        return False
    counts = torch.zeros(len(values), int(labels.max()) + 1, device=column.device)
    counts.index_put_((where, labels), torch.ones(len(labels), device=column.device), accumulate=True)
    pure = (counts.max(1).values == rows) & (rows >= ROWS)
    kinds = counts[pure].argmax(1).unique()
    mixed = float(rows[~pure & (rows >= ROWS)].sum())
    return len(kinds) == counts.shape[1] and float(rows[pure].sum()) >= PURE * len(column) <= mixed


def right_by(column: torch.Tensor, rule) -> torch.Tensor:
    edges, answer = rule
    return answer[torch.bucketize(column, edges)]


def way(right: torch.Tensor, floor: float) -> float:
    """How far from always guessing the most frequent label (0) to always right (1)."""
    return (float(right.float().mean()) - floor) / max(1 - floor, 1e-9)


def suspects(bench: Bench):
    """(position, column or None for the whole argument, share of the way in training, on new rows, z) that answer training rows alone."""
    labels = bench.train.labels.reshape(len(bench.train)).long()
    classes = int(labels.max()) + 1
    floor = float(labels.bincount().max()) / len(labels)
    half = torch.arange(len(labels), device=labels.device) % 2 == 0
    new = bench.held.labels.reshape(len(bench.held)).long() if bench.held is not None else None
    found = []
    for at, given in enumerate(bench.train.inputs):
        if not given.is_floating_point():
            continue
        x = features(given)
        other = features(bench.held.inputs[at]) if new is not None else None
        columns = [(c, x[:, c].contiguous(), other[:, c].contiguous() if other is not None else None) for c in range(min(x.shape[1], 512))]
        for column, values, theirs in columns:
            if float(values.max()) == float(values.min()):
                continue
            fits = right_by(values[~half], table(values[half], labels[half], classes)) == labels[~half]
            if way(fits, floor) >= (ENCODED if new is not None and encoded(values, labels) else PERFECT):
                found.append(_judged(at, column, fits, right_by(theirs, table(values, labels, classes)) == new if new is not None else None, floor))
        if x.shape[1] == classes and classes > 2:
            fits = x.argmax(1) == labels
            if way(fits, floor) >= PERFECT:
                found.append(_judged(at, None, fits, other.argmax(1) == new if new is not None else None, floor))
    return found


def _judged(at, column, fits, elsewhere, floor):
    if elsewhere is None:
        return at, column, way(fits, floor), math.nan, math.nan
    return at, column, way(fits, floor), way(elsewhere, floor), z_of_shares(fits, elsewhere)


def _without(bench: Bench, at: int, column: int | None):
    """change_constant that puts a column (or the whole argument) at its mean over the training rows."""
    mean = bench.train.inputs[at].mean(0)
    shape = bench.train.inputs[at].shape[1:]
    kinds = {id(t.constants[k]) for t in bench.lab.program.whole_tapes().values() for k in t.constants}

    def change(tensor):
        if not tensor.is_floating_point() or tensor.shape[1:] != shape or tensor.dim() < 2:
            return tensor
        changed = tensor.clone()
        if column is None:
            changed[:] = mean
        else:
            changed.reshape(len(changed), -1)[:, column] = mean.reshape(-1)[column]
        return changed
    return lambda key, t: change(t) if id(t) in kinds else t, change


def _named(bench: Bench, at: int, column: int) -> str:
    return f"column {column}" if len(bench.train.inputs) == 1 else f"{bench.argument(at)}.column {column}"


def _made_of_labels(bench: Bench) -> dict | None:
    labels = bench.train.labels.reshape(len(bench.train)).long()
    for at, given in enumerate(bench.train.inputs):
        columns = features(given).T[:512].contiguous() if given.is_floating_point() else ()
        found = next((c for c, values in enumerate(columns) if mean_of_own_labels(values, labels)), None)
        if found is not None:
            bench.lab.clear("without-column")
            bench.lab.evidence.add("shown", True, run="without-column")
            told = float((right_by(columns[found], table(columns[found], labels, 2)) == labels).float().mean())
            return {"experiment": "without-column", "before": told, "after": float(labels.bincount().max()) / len(labels), "steps": 0, "shown": True,
                    "subject": _named(bench, at, found),
                    "said": f"the values of column {found} are means of the labels of a few rows each, the row's own label among them: rows at the "
                            "value of a group without label 1 never have it, rows at the value of a group that has nothing else always do",
                    "change": f"share of {len(labels)} training rows whose label column {found} tells by itself, then the most frequent label's"}
    return None


@experiment("without-column")
def without_column(lab, asks):
    """The column that answers training rows alone and new rows far worse; then both trainings judged on new rows.

    A column that was computed from the rows' own labels needs no new rows: the values themselves tell.
    """
    bench = Bench(lab)
    if bench.train.labels.is_floating_point() and float((bench.train.labels - bench.train.labels.round()).abs().max()) > 0:
        raise CannotReplay("the targets are no classes")
    made = _made_of_labels(bench)
    if made is not None:
        return made
    if len(bench.train) < 60 or bench.held is None or len(bench.held) < 60:
        raise CannotReplay("too few labelled rows of training and evaluation were captured")
    found = [f for f in suspects(bench) if f[3] < (1 - FEWER) * f[2] and f[4] > 5]
    if not found:
        lab.clear("without-column")
        lab.evidence.add("shown", False, run="without-column")
        return {"experiment": "without-column", "before": math.nan, "after": math.nan, "steps": 0, "shown": False,
                "change": "no column alone answers the training rows and fails on new ones"}
    at, column, train, held, z = max(found, key=lambda f: (f[2] - f[3], f[4]))
    steps, results = 240, {}
    change, change_held = _without(bench, at, column)
    new = type(bench.held)([change_held(x) if i == at else x for i, x in enumerate(bench.held.inputs)], bench.held.labels)
    for name, plan, pairs in (("control", Plan(), bench.held), ("changed", Plan(change_constant=change), new)):
        rehearsal = Rehearsal(lab.program, plan, lab.main)
        losses = rehearsal.train(steps, lab.deadline())
        results[name] = (*bench.outcome(rehearsal.arm, pairs)[:2], losses)
    before, after = results["control"], results["changed"]
    better = z_of_shares(after[1], before[1]) if after[1] is not None and before[1] is not None else 0.0
    shown = after[0] < 0.9 * before[0] or better > 3
    name = bench.argument(at)
    label = f"column {column}" if column is not None else name
    lab.clear("without-column")
    for quantity, value in (("shown", shown), ("column", column), ("alone_train", train), ("alone_new", held), ("z", z)):
        lab.evidence.add(quantity, value, run="without-column")
    return {"experiment": "without-column", "before": before[0], "after": after[0], "steps": min(len(before[2]), len(after[2])), "shown": shown,
            "subject": name if column is None else _named(bench, at, column),
            "said": f"{label} alone goes {train:.0%} of the way from guessing to always right on training rows, {max(held, 0):.0%} on new ones",
            "change": f"loss on new rows after a training with {label}, then with it at its mean"}
