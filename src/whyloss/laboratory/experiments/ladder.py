"""The ladder of complexity on the same data, and the wider model: is it capacity?"""

import copy
import math

import numpy as np
import torch

from whyloss.cause import tail
from whyloss.errors import CannotReplay
from whyloss.laboratory.experiments.overfit import first_tape, free_outputs
from whyloss.laboratory.experiments.pairs import features, input_key
from whyloss.laboratory.lab import experiment
from whyloss.laboratory.sandbox import Plan
from whyloss.sources import clock

STEPS = 200


class Stand:
    """A model of our own in place of the last root call's output: same inputs, same loss, fresh Adam."""

    def __init__(self, lab, net_of):
        _, tape = first_tape(lab)
        calls = [n for n in tape.nodes if n.module is not None]
        if not calls or tape.loss.index in calls[-1].outputs or input_key(tape) is None:
            raise CannotReplay("the loss is computed inside the model, or its input was not captured")
        self.lab, self.root = lab, len(calls) - 1
        self.tapes = [t for t in lab.program.whole_tapes().values() if len(t.nodes) == len(tape.nodes) and input_key(t) is not None]
        self.arm = lab.program.fresh()
        with torch.no_grad():
            output = next(v for v in (tape.run(self.arm.bindings)[s] for s in calls[-1].outputs) if v.is_floating_point())
        x = features(tape.constants[input_key(tape)])
        self.per_row = output.shape[0] == x.shape[0]
        self.shape = output.shape[1:] if self.per_row else output.shape
        rows = torch.cat([features(t.constants[input_key(t)]) for t in self.tapes])
        self.mean, self.spread = rows.mean(0), rows.std(0).clamp_min(1e-6)
        torch.manual_seed(0)
        self.net = net_of(x.shape[1], math.prod(self.shape))

    def train(self, rates=(3e-3,)) -> list[float]:
        losses: list[float] = []
        deadline = self.lab.deadline(2.0)
        optimizer = torch.optim.Adam(self.net.parameters(), lr=rates[0])
        for at in range(STEPS):
            tape = self.tapes[at % len(self.tapes)]
            root = [n for n in tape.nodes if n.module is not None][self.root]
            x = (features(tape.constants[input_key(tape)]) - self.mean) / self.spread
            out = self.net(x).reshape(-1, *self.shape) if self.per_row else self.net(x.mean(0)).reshape(self.shape)
            loss = tape.run(self.arm.bindings, given={root.outputs[0]: out})[tape.loss.index]
            optimizer.zero_grad()
            loss.sum().backward()
            optimizer.step()
            losses.append(float(loss.detach().sum()) / tape.scale)
            if clock.now() > deadline:
                break
        return losses


def _linear(width, out):
    return torch.nn.Linear(width, out)


def _small(width, out, hidden=64):
    return torch.nn.Sequential(torch.nn.Linear(width, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, out))


def _wide(width, out):
    return torch.nn.Sequential(torch.nn.Linear(width, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, out))


@experiment("ladder")
def ladder(lab, asks):
    """Constant, inputs zeroed, linear, small, yours: each trained on the captured batches with your loss."""
    _, tape = first_tape(lab)
    rungs: dict[str, float | None] = {"best constant": free_outputs(tape, lab.program.fresh().bindings, constant=True)}
    curves = {}
    given = input_key(tape)
    shape = tape.constants[given].shape[1:] if given is not None else None
    zeroed = Plan(change_constant=lambda key, t: torch.zeros_like(t) if t.is_floating_point() and t.dim() > 1 and t.shape[1:] == shape else t)
    curves["yours, inputs zeroed"] = lab.train("ladder", zeroed, steps=STEPS, seconds=2.0)
    for name, net in (("linear", _linear), ("small", _small)):
        curves[name] = Stand(lab, net).train()
    curves["yours"] = lab.control()
    rungs.update({name: tail(np.array(losses)) for name, losses in curves.items()})
    mine = rungs["yours"]
    blocked = next((name for name in ("best constant", "yours, inputs zeroed", "linear", "small")
                    if rungs[name] is not None and rungs[name] < 0.9 * mine), None)
    lab.clear("ladder")
    for name, value in rungs.items():
        lab.evidence.add("rung", value, subject=name, run="ladder")
    says = f"your model does not get as far as: {blocked}" if blocked else "your model climbs every rung"
    return {"experiment": "ladder", "change": says, "before": rungs["best constant"] or math.nan, "after": mine, "steps": STEPS,
            "rows": [{"label": n, "value": "unknown" if v is None else f"{v:.4g}"} for n, v in rungs.items()], "arms": curves, "blocked": blocked}


@experiment("wider-model")
def wider_model(lab, asks):
    """Hidden layers four times as wide where a chain of Linear layers allows it, else a wide network on the same inputs."""
    control = lab.control()
    widened = _widened(lab)
    if widened is not None:
        changed = lab.train("wider-model", Plan(loop="canonical", make_optimizer=_fresh), arm=widened)
        return lab.paired("wider-model", "hidden layers four times as wide", control, changed)
    changed = Stand(lab, _wide).train()
    return lab.paired("wider-model", "a network of two layers of 256 units on the same inputs", control, changed)


def _fresh(arm, parameters):
    from whyloss.laboratory.experiments.loop import same_kind
    return same_kind(arm, parameters)


def _widened(lab, factor: int = 4):
    """An arm whose Linear chain (nothing but activations and dropout between) is wider, or None."""
    arm = lab.program.fresh()
    if len(arm.modules) != 1:
        return None
    module = next(iter(arm.modules.values()))
    layers = [(n, m) for n, m in module.named_modules() if isinstance(m, torch.nn.Linear)]
    others = [m for m in module.modules() if next(m.parameters(recurse=False), None) is not None and not isinstance(m, torch.nn.Linear)]
    if len(layers) < 2 or others or any(a[1].out_features != b[1].in_features for a, b in zip(layers, layers[1:])):
        return None
    torch.manual_seed(7)
    for at, (name, layer) in enumerate(layers):
        wide_in = layer.in_features if at == 0 else max(layer.in_features * factor, 64)
        wide_out = layer.out_features if at == len(layers) - 1 else max(layer.out_features * factor, 64)
        parent = module.get_submodule(name.rsplit(".", 1)[0]) if "." in name else module
        setattr(parent, name.rsplit(".", 1)[-1], torch.nn.Linear(wide_in, wide_out, bias=layer.bias is not None))
    arm.leaves.clear()
    arm.leaves.update({id(p): p for p in module.parameters()})
    for optimizer in arm.optimizers.values():
        optimizer.state.clear()
    _, tape = first_tape(lab)
    try:
        with torch.no_grad():
            tape.replay(copy.deepcopy(arm.bindings))
    except Exception:  # the forward names its sizes: a wide network in its place will do
        return None
    return arm
