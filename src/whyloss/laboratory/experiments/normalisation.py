"""Batch norm put to the test: another normalisation in its place, and its running statistics estimated again."""

import contextlib
import math

import numpy as np
import torch

from whyloss.errors import CannotReplay
from whyloss.laboratory.experiments.loop import _compare
from whyloss.laboratory.interventions import Replace
from whyloss.laboratory.lab import experiment
from whyloss.laboratory.sandbox import Plan
from whyloss.sources.nonfinite import current_bindings

_ROLES = ("input", "running_mean", "running_var", "weight", "bias", "training", "momentum", "eps")
ENOUGH = 0.7    # evaluation loss with new statistics over that with the user's
PAIRS = 0.8     # of the batches must agree
FELT = 0.05     # of the first training loss


def _one_group(func, args, kwargs):
    """Each sample normalised by itself, over all channels and positions."""
    given = {**dict(zip(_ROLES, args)), **kwargs}
    values = given["input"]
    if not given.get("training", False) or math.prod(values.shape[1:]) < 4:
        return func(*args, **kwargs)
    return torch.nn.functional.group_norm(values, 1, given.get("weight"), given.get("bias"), given.get("eps", 1e-5))


@experiment("other-normalisation")
def other_normalisation(lab, asks):
    @contextlib.contextmanager
    def around():
        with Replace({"batch_norm"}, _one_group):
            yield
    return _compare(lab, "other-normalisation", "each sample normalised by itself (one group) in place of batch norm", Plan(around=around))


@experiment("recalibrate-statistics")
def recalibrate_statistics(lab, asks):
    """The final weights in evaluation mode on the captured batches: the user's running statistics against new ones."""
    bindings = current_bindings(lab)
    norms = [part for module in bindings.modules.values() for part in module.modules()
             if isinstance(part, torch.nn.modules.batchnorm._BatchNorm) and part.running_mean is not None]
    if not norms:
        raise CannotReplay("no batch norm module keeps running statistics")
    tapes = list(lab.program.whole_tapes().values())
    before = _evaluated(tapes, bindings)
    for part in norms:
        part.reset_running_stats()
        part.momentum = None  # the plain average over the batches
    bindings.force_training = None
    for tape in tapes:
        torch.set_rng_state(tape.rng)
        tape.replay(bindings)
    after = _evaluated(tapes, bindings)
    outcome = lab.paired("recalibrate-statistics", "running statistics estimated again on the captured batches", before, after)
    first = lab.evidence.series("loss").finite()
    a, b = np.array(before), np.array(after)
    better = float(np.mean(b < a)) >= PAIRS and np.median(b) < ENOUGH * np.median(a)
    lab.evidence.add("shown", bool(better and first and np.median(a) - np.median(b) > FELT * abs(first.values[0])), run="recalibrate-statistics")
    return outcome


def _evaluated(tapes, bindings) -> list[float]:
    bindings.force_training = False
    losses = []
    for tape in tapes:
        torch.set_rng_state(tape.rng)
        losses.append(float(tape.replay(bindings).detach().sum()) / tape.scale)
    return losses
