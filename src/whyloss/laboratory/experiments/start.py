"""Changes to the starting state and the activations: fresh initialisation, plain activations, no dropout, wider model."""

import contextlib

import numpy as np
import torch

from whyloss.cause import tail
from whyloss.errors import CannotReplay
from whyloss.laboratory import interventions
from whyloss.laboratory.bench import Bench
from whyloss.laboratory.experiments.loop import _compare, same_kind
from whyloss.laboratory.experiments.overfit import first_tape
from whyloss.laboratory.interventions import Replace
from whyloss.laboratory.lab import STEPS, experiment
from whyloss.laboratory.sandbox import Plan

FEWEST = 60   # rows of an evaluation to be judged by


@experiment("fresh-init")
def fresh_init(lab, asks):
    """reset_parameters() everywhere; with a second arm of Kaiming matrices, the better one counts.

    asks: rate_factor  learning rate times this in the changed arm (units that a too high rate killed stay dead without it)
          recurrent    a recurrent matrix of a cell written by hand: an arm in which it is orthogonal, the rest as it was
          fit          an arm in which each layer is scaled down until its outputs on the first batch are of size 1: no initialisation that
                       looks only at the number of inputs helps where the inputs themselves are large
    """
    factor = float(asks.get("rate_factor", 1.0))
    rate = (lambda step, base: base * factor) if factor != 1.0 else None
    control = lab.control()
    first = lab.train("fresh-init", Plan(prepare=interventions.reset, rate=rate))
    second = lab.train("fresh-init", Plan(prepare=interventions.kaiming, rate=rate))
    arms = [(first, "PyTorch's default initialisation"), (second, "Kaiming initialisation")]
    if asks.get("recurrent"):
        arms.append((lab.train("fresh-init", Plan(prepare=_recurrent(lab, asks["recurrent"], torch.nn.init.orthogonal_), rate=rate)),
                     f"{asks['recurrent']} orthogonal"))
    if asks.get("fit"):
        fitted = lab.train("fresh-init", Plan(prepare=lambda arm: interventions.fit_to_inputs(arm, first_tape(lab)[1]), rate=rate))
        arms.append((fitted, "weights scaled to the size of their inputs"))
    best, kind = min(arms, key=lambda pair: tail(np.array(pair[0])))
    change = kind + (f", learning rate x {factor:g}" if factor != 1.0 else "")
    return lab.paired("fresh-init", change, control, best)


def _recurrent(lab, name: str, fill):
    """A change of one parameter, by its name."""
    keys = [key for key in lab.program.leaves if lab.program.names.get(key) == name]
    if not keys:
        raise CannotReplay(f"{name} is not in the copy")

    def prepare(arm):
        torch.manual_seed(7)
        with torch.no_grad():
            fill(arm.leaves[keys[0]])
    return prepare


def _relu(func, args, kwargs):
    return torch.relu(args[0])


@experiment("plain-activation")
def plain_activation(lab, asks):
    """ReLU for sigmoid and tanh inside the model, Kaiming initialisation; the better of two arms where `recurrent` is asked.

    asks: recurrent  a recurrent matrix of a cell written by hand: identity beside the ReLU; an arm in which it is orthogonal, the rest as it was
    """
    @contextlib.contextmanager
    def around():
        with Replace({"sigmoid", "tanh", "hardtanh", "softsign"}, _relu):
            yield

    loose = _recurrent(lab, asks["recurrent"], torch.nn.init.eye_) if asks.get("recurrent") else None
    orthogonal = loose is not None or any(isinstance(part, torch.nn.RNNBase) for m in lab.program.modules.values() for part in m.modules())

    def prepare(arm):
        interventions.kaiming(arm)
        for module in arm.modules.values():
            for part in module.modules():
                if isinstance(part, torch.nn.RNNBase):
                    _long_memory(part)
        if loose is not None:
            loose(arm)

    change = "ReLU and Kaiming initialisation" if not orthogonal else "recurrent weights that keep the gradient (identity, ReLU)"
    changed = lab.train("plain-activation", Plan(prepare=prepare, around=around))
    if loose is not None:
        kept = lab.train("plain-activation", Plan(prepare=_recurrent(lab, asks["recurrent"], torch.nn.init.orthogonal_)))
        if np.mean(kept[-len(kept) // 5:]) < np.mean(changed[-len(changed) // 5:]):  # of the one that leaps now and then nothing can be said
            changed, change = kept, f"{asks['recurrent']} orthogonal"
    return lab.paired("plain-activation", change, lab.control(), changed)


def _long_memory(part: torch.nn.RNNBase) -> None:
    """Identity recurrence (Le et al. 2015) for plain RNNs, forget bias 2 for LSTMs."""
    part.reset_parameters()
    with torch.no_grad():
        for name, parameter in part.named_parameters():
            if name.startswith("weight_hh") and part.mode.startswith("RNN"):
                torch.nn.init.eye_(parameter)
            elif name.startswith("bias") and part.mode == "LSTM":
                size = parameter.shape[0] // 4
                parameter[size:2 * size] = 1.0
            elif name.startswith("bias"):
                parameter.zero_()
    if part.mode == "RNN_TANH":
        part.mode, part.nonlinearity = "RNN_RELU", "relu"


@experiment("add-activation")
def add_activation(lab, asks):
    """Each linear result that goes straight into another linear layer passes a ReLU first."""
    linear = {"linear", "conv1d", "conv2d", "conv3d"}

    @contextlib.contextmanager
    def around():
        made: dict[int, torch.Tensor] = {}

        def instead(func, args, kwargs):
            held = made.get(id(args[0]))
            result = func(torch.relu(args[0]) if held is args[0] else args[0], *args[1:], **kwargs)
            made[id(result)] = result
            return result

        with Replace(linear, instead):
            yield

    control = lab.control()
    changed, change = lab.train("add-activation", Plan(around=around)), "a ReLU between the linear layers"
    if not tail(np.array(control)) < control[0] and not tail(np.array(changed)) < control[0]:
        # a linear model that runs away under its settings: they may have been meant for units that cannot
        bounded = Plan(around=lambda: Replace(linear, lambda func, args, kwargs: torch.sigmoid(func(*args, **kwargs))))
        changed, change = lab.train("add-activation", bounded), "a sigmoid behind each linear layer"
    return lab.paired("add-activation", change, control, changed)


@experiment("without-dropout")
def without_dropout(lab, asks):
    @contextlib.contextmanager
    def around():
        with interventions.without_dropout():
            yield
    plan = Plan(prepare=interventions.quiet_dropout, around=around)
    return _beside_the_end(lab, plan) if asks.get("held") else _compare(lab, "without-dropout", "dropout off", plan)


def _beside_the_end(lab, plan):
    """Trained without dropout for no more steps than the script made, against the model that the script ended with, on rows of its evaluation.

    Records `shown` where the shorter training answers them clearly better: by half the loss, and classes by the test for pairs.
    """
    bench = Bench(lab)
    if bench.held is None or len(bench.held) < FEWEST:
        raise CannotReplay(f"an evaluation of {FEWEST} labelled rows that were not trained on was not captured")
    arm, made = lab.program.fresh(), len(lab.evidence.series("loss"))
    losses = lab.train("without-dropout", plan, steps=min(STEPS, made), arm=arm)
    interventions.quiet_dropout(arm)
    before, right, _ = bench.outcome(bench.trained(), bench.held)
    after, better, _ = bench.outcome(arm, bench.held)
    shown = bool(np.isfinite(losses[-1])) and after < 0.5 * before
    if right is not None and better is not None:
        won, lost = int((better & ~right).sum()), int((right & ~better).sum())
        shown &= won - lost > 4 * max(won + lost, 1) ** 0.5
    lab.clear("without-dropout")
    for name, value in (("held", True), ("shown", shown)):
        lab.evidence.add(name, value, run="without-dropout")
    shares = f", share right {float(right.float().mean()):.2f} and {float(better.float().mean()):.2f}" if right is not None else ""
    return {"experiment": "without-dropout", "before": before, "after": after, "steps": len(losses), "shown": shown,
            "change": f"loss on {len(bench.held)} evaluation rows: your trained model, then a copy trained for {len(losses)} steps without "
                      f"dropout{shares}"}


@experiment("larger-batch")
def larger_batch(lab, asks):
    """Four captured batches per step."""
    control = lab.control()
    from whyloss.laboratory.sandbox import Rehearsal

    rehearsal = Rehearsal(lab.program, Plan(loop="canonical", make_optimizer=same_kind), lab.main)
    merged = []
    for at in range(0, len(rehearsal.iterations), 4):
        windows = [w for group in rehearsal.iterations[at:at + 4] for w in group[1]]
        merged.append(("iteration", windows, rehearsal.iterations[at][2]))
    rehearsal.iterations = merged
    changed = rehearsal.train(240, lab.deadline())
    return lab.paired("larger-batch", "four batches per step", control, changed)
