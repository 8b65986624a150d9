"""Learning-rate experiments: decades, the range test, the decay branch."""

import copy
import math

import numpy as np
import torch

from whyloss.cause import tail
from whyloss.errors import CannotReplay
from whyloss.laboratory.experiments.loop import same_kind
from whyloss.laboratory.lab import STEPS, experiment
from whyloss.laboratory.sandbox import Plan, Rehearsal
from whyloss.sources import clock, copies


def current_rate(lab) -> float:
    """The largest learning rate the run used, or 0 where none was seen."""
    rates = [v for series in lab.evidence.by_subject("learning_rate").values() for v in series.values]
    return max(rates) if rates else 0.0


def _arms(lab, name: str, factors, *, steps: int = STEPS) -> tuple[dict[float, list[float]], float]:
    """Losses of the training at each multiple of the run's learning rate; absolute 1e-3 where the run's is 0."""
    base = current_rate(lab)
    arms = {}
    for factor in factors:
        if base > 0:
            plan = Plan(rate=lambda step, recorded, f=factor: recorded * f)
        else:
            plan = Plan(loop="canonical", make_optimizer=same_kind, rate=lambda step, recorded, f=factor: 1e-4 * f)
        arms[factor] = lab.train(name, plan, steps=steps)
    return arms, base or 1e-4


def _best(arms: dict[float, list[float]]) -> float:
    return min(arms, key=lambda f: tail(np.array(arms[f])) if arms[f] else math.inf)


@experiment("raise-learning-rate")
def raise_learning_rate(lab, asks):
    control = lab.control()
    zero = current_rate(lab) == 0
    arms, base = _arms(lab, "raise-learning-rate", asks.get("factors") or ([10] if zero else [10, 100, 1000, 10000]))
    best = _best(arms)
    change = f"learning rate {base * best:g} instead of {current_rate(lab):g}"
    return lab.paired("raise-learning-rate", change, control, arms[best], factor=best, rate=base * best)


@experiment("lower-learning-rate")
def lower_learning_rate(lab, asks):
    """asks: broke  where the loss of the script ended after it had fallen, the first steps being leaps: then a smaller gain tells."""
    control = lab.control()
    arms, base = _arms(lab, "lower-learning-rate", asks.get("factors") or [0.1, 0.01, 0.001])
    best = _best(arms)
    change = f"learning rate {base * best:g} instead of {base:g}"
    return lab.paired("lower-learning-rate", change, control, arms[best], factor=best, rate=base * best, broke=asks.get("broke"))


@experiment("lr-decades")
def lr_decades(lab, asks):
    """Improvement over the current rate decides, not change: at a perfect rate both directions change the curve."""
    control = lab.control()
    arms, base = _arms(lab, "lr-decades", [0.01, 0.1, 10, 100])
    best = _best(arms)
    outcome = lab.paired("lr-decades", f"learning rate {base * best:g} instead of {base:g}", control, arms[best], factor=best)
    outcome["arms"] = {f"x {factor:g}": losses for factor, losses in arms.items()} | {"x 1": control}
    outcome["rows"] = [{"label": f"lr {base * f:g}", "value": f"{tail(np.array(v)):.4g}"} for f, v in sorted({**arms, 1: control}.items())]
    return outcome


def sweep(lab, *, low: float = 1e-7, high: float = 10.0, steps: int = 120) -> tuple[list[float], list[float]]:
    """Range test on a fresh copy: the rate grows by a constant factor each step. -> (rates, losses)."""
    growth = (high / low) ** (1 / (steps - 1))
    plan = Plan(loop="canonical", make_optimizer=same_kind, rate=lambda step, base: low * growth**step)
    rehearsal = Rehearsal(lab.program, plan, lab.main)
    rates, losses, first = [], [], None
    torch.manual_seed(0)
    deadline = lab.deadline(6.0)
    for at in range(steps):
        before = len(rehearsal.losses)
        rehearsal.train(rehearsal.steps + 1, deadline)
        if len(rehearsal.losses) == before:
            continue
        value = rehearsal.losses[-1]
        if not math.isfinite(value):
            break
        rates.append(low * growth**at)
        losses.append(value)
        first = value if first is None else first
        # 4 x the FIRST raw loss never fires for bounded losses; the best smoothed loss is the yardstick
        if len(losses) > 20 and value > first + 3 * abs(first - min(losses)) + 3 * abs(first):
            break
        if clock.now() > deadline:
            break
    return rates, losses


def read_sweep(rates: list[float], losses: list[float]) -> dict:
    """What a range test suggests. Smoothed (EMA .9, bias-corrected) minimum, a tenth of it, steepest point and valley.

    -> {"at_minimum", "suggested", "steepest", "valley", "low", "high", "drop"}; NaN where there is no drop.
    Source: Smith 2017; a tenth of the smoothed minimum was within a decade of the best rate in 15 of 15 trials, the
    steepest point in 73 %.
    """
    smooth, average = [], 0.0
    for at, value in enumerate(losses):
        average = 0.9 * average + 0.1 * value
        smooth.append(average / (1 - 0.9 ** (at + 1)))
    smooth = np.array(smooth)
    lowest = int(np.argmin(smooth))
    slope = np.gradient(smooth, np.log(np.array(rates)))
    steepest = int(np.argmin(slope[: lowest + 1])) if lowest > 0 else 0
    start = float(np.median(losses[: max(3, len(losses) // 10)]))
    top = int(np.argmax(smooth[: lowest + 1]))
    valley = top + (lowest - top) * 2 // 3
    return {"at_minimum": rates[lowest], "suggested": rates[lowest] / 10, "steepest": rates[steepest], "valley": rates[valley],
            "low": min(rates[lowest] / 30, rates[steepest]), "high": rates[lowest] / 3,
            "drop": (start - float(smooth[lowest])) / max(abs(start), 1e-12), "smooth": smooth.tolist()}


@experiment("lr-range")
def lr_range(lab, asks):
    rates, losses = sweep(lab, low=asks.get("low", 1e-7), high=asks.get("high", 10.0), steps=asks.get("steps", 120))
    if len(losses) < 20:
        raise CannotReplay("the range test ended before 20 steps")
    reading = read_sweep(rates, losses)
    lab.clear("lr-range")
    for at, (rate, loss) in enumerate(zip(rates, losses)):
        lab.evidence.add("loss", loss, step=at, run="lr-range")
        lab.evidence.add("sweep_rate", rate, step=at, run="lr-range")
    for key in ("at_minimum", "suggested", "steepest", "valley", "drop"):
        lab.evidence.add(key, reading[key], run="lr-range")
    return {"experiment": "lr-range", "change": "learning rate swept", "before": losses[0], "after": min(losses), "steps": len(losses),
            "rates": rates, "losses": losses, **reading}


@experiment("lr-decay")
def lr_decay(lab, asks):
    """Branch from the trained state: the rate lowered to a tenth against unchanged, the same next batches."""
    warm = Rehearsal(lab.program, Plan(), lab.main)
    warm.train(STEPS, lab.deadline(4.0))
    with copies.whole():
        state = copy.deepcopy((warm.arm.modules, warm.arm.leaves, warm.arm.optimizers), {})
    branches = {}
    for name, factor in (("control", 1.0), ("changed", 0.1)):
        with copies.whole():
            modules, leaves, optimizers = copy.deepcopy(state, {})
        from whyloss.sources.program import Arm
        branches[name] = lab.train("lr-decay", Plan(rate=lambda step, base, f=factor: base * f), steps=STEPS // 2,
                                   arm=Arm(modules, leaves, optimizers))
    ratio = tail(np.array(branches["changed"])) / max(tail(np.array(branches["control"])), 1e-12)
    return lab.paired("lr-decay", "learning rate lowered to a tenth from the trained state", branches["control"], branches["changed"], ratio=ratio)
