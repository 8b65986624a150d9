"""Repairs between the last layer and the loss, and of the loss itself."""

import contextlib

import torch

from whyloss.errors import CannotReplay
from whyloss.laboratory.behind import BehindActivation
from whyloss.laboratory.experiments.dependence import batch_dependence
from whyloss.laboratory.experiments.loop import _compare
from whyloss.laboratory.experiments.overfit import first_tape, free_outputs
from whyloss.laboratory.interventions import Replace, identity
from whyloss.laboratory.lab import experiment
from whyloss.laboratory.sandbox import Plan
from whyloss.sources import clock
from whyloss.sources.lossfunctions import CLASS_LOSSES, LOSSES

_SQUASH = {"softmax", "sigmoid", "log_softmax", "relu", "tanh", "softmin", "logsigmoid", "clamp", "clip", "clamp_min",
           "hardtanh", "relu6", "leaky_relu"}


@experiment("logits-to-loss")
def logits_to_loss(lab, asks):
    """The softmax, sigmoid or ReLU in front of the loss taken off. asks: operation, place (its line), loss (its replacement).

    samples: True  nothing is taken off; does a softmax inside the model mix the samples? Records `shown`.
    """
    if asks.get("samples"):
        found = batch_dependence(lab, {})
        lab.clear("logits-to-loss")
        lab.evidence.add("shown", found["shown"], run="logits-to-loss")
        return found | {"experiment": "logits-to-loss"}
    names = {asks["operation"]} if asks.get("operation") in _SQUASH else _SQUASH
    where = asks.get("place")  # its line matters where the function itself is changed, not taken off
    new_loss = asks.get("loss")
    dim = asks.get("dim")

    def instead(func, args, kwargs):
        if dim is not None:
            return func(args[0], dim=dim)
        return identity(func, args, kwargs)

    @contextlib.contextmanager
    def around():
        with Replace(names, instead, where):
            yield

    plan = Plan(around=around)
    if dim is None and asks.get("operation") in _SQUASH:
        plan = Plan(around=lambda: BehindActivation(names, asks.get("sink"), new_loss))
    floors = {}
    _, tape = first_tape(lab)
    arm = lab.program.fresh()
    floors["floor_before"] = free_outputs(tape, arm.bindings, steps=150)
    change = f"{asks.get('operation', 'the last activation')} " + (f"over axis {dim}" if dim is not None else "taken off before the loss")
    if new_loss:
        change += f", {new_loss}"
    if new_loss and asks.get("operation") not in _SQUASH:
        instead_loss = getattr(torch.nn.functional, new_loss)

        @contextlib.contextmanager
        def around_both():
            other = Replace({"binary_cross_entropy", "nll_loss", "nll_loss_nd"}, lambda f, a, k: instead_loss(a[0], a[1]))
            with Replace(names, instead, where), other:
                yield
        plan = Plan(around=around_both)
    return _compare(lab, "logits-to-loss", change, plan, **{k: v for k, v in floors.items() if v is not None})


def _loss_nodes(tape):
    return [n for n in tape.nodes if n.module is None and n.name in LOSSES]


@experiment("log-softmax-to-loss")
def log_softmax_to_loss(lab, asks):
    """log_softmax (or log, when probabilities are given) in front of nll_loss; both arms are read by the proper loss."""
    probabilities = bool(asks.get("probabilities"))

    def fixed(prediction):
        return prediction.clamp_min(1e-12).log() if probabilities else torch.log_softmax(prediction, 1)

    shown: dict[str, list[float]] = {"control": [], "changed": []}

    def watching(arm):
        def swap(node, args, kwargs):
            if node.module is None and node.name in CLASS_LOSSES:
                proper = torch.nn.functional.nll_loss(fixed(args[0].detach()), args[1])
                shown[arm].append(float(proper))
                if arm == "changed":
                    args = (fixed(args[0]), *args[1:])
            return args, kwargs
        return swap

    _, tape = first_tape(lab)
    if not _loss_nodes(tape):
        raise CannotReplay("the loss is computed inside the model")
    lab.train("log-softmax-to-loss", Plan(swap=watching("control")))
    lab.train("log-softmax-to-loss", Plan(swap=watching("changed")))
    return lab.paired("log-softmax-to-loss", "log-probabilities given to the loss", shown["control"], shown["changed"])


@experiment("mean-reduction")
def mean_reduction(lab, asks):
    """The gradient of the mean instead of the sum; the curve shows the same loss in both arms."""
    size = float(asks.get("size", 1))
    return _compare(lab, "mean-reduction", f"loss divided by {size:g}", Plan(loss_scale=1.0 / size))


@experiment("same-shape")
def same_shape(lab, asks):
    """Prediction and target brought to one shape before the loss or the difference; both arms read by the element-wise loss."""
    where = asks.get("place")
    seen: dict[str, list[float]] = {"control": [], "changed": []}

    def fit(first, second):
        if first.numel() == second.numel() and first.shape != second.shape:
            return first, second.reshape(first.shape)
        return first, second

    def make(arm):
        def swap(node, args, kwargs):
            here = node.module is None and (where is None or node.place == where) and len(args) >= 2
            if here and all(isinstance(a, torch.Tensor) for a in args[:2]) and args[0].numel() == args[1].numel() and args[0].shape != args[1].shape:
                a, b = fit(args[0], args[1])
                seen[arm].append(float(((a.detach() - b.detach()) ** 2).mean()))
                if arm == "changed":
                    args = (a, b, *args[2:])
            return args, kwargs
        return swap

    lab.train("same-shape", Plan(swap=make("control")))
    lab.train("same-shape", Plan(swap=make("changed")))
    if not seen["control"]:
        raise CannotReplay("the broadcast is inside the model")
    return lab.paired("same-shape", "prediction and target in the same shape", seen["control"], seen["changed"])


@experiment("right-tensor")
def right_tensor(lab, asks):
    """The output that the loss does not use, of the same shape as the one it uses, put in its place."""
    _, tape = first_tape(lab)
    calls = [n for n in tape.nodes if n.module is not None]
    arm = lab.program.fresh()
    with torch.no_grad():
        made = tape.run(arm.bindings)
    used = {ref.index for n in tape.nodes for ref in n.inputs if hasattr(ref, "index")}
    pairs = [(u, s) for n in calls for s in n.outputs if s not in used for u in n.outputs if u in used and made[u].shape == made[s].shape]
    if not pairs:
        raise CannotReplay("no other output of the same shape")
    taken, spare = pairs[0]
    seen: dict[str, list[float]] = {"control": [], "changed": []}
    for name in seen:
        seen[name] = _train_output(lab, spare, taken if name == "control" else spare, taken)
    return lab.paired("right-tensor", "the loss computed from the other output", seen["control"], seen["changed"])


def _train_output(lab, spare: int, learn: int, taken: int) -> list[float]:
    """Losses of the spare output while the output `learn` is trained; a fresh Adam on a copy, the first step's batch."""
    _, tape = first_tape(lab)
    arm = lab.program.fresh()
    optimizer = torch.optim.Adam([p for p in arm.leaves.values() if p.requires_grad], lr=1e-3)
    root = next(n for n in tape.nodes if n.module is not None and taken in n.outputs)
    losses = []
    tapes = [t for t in lab.program.whole_tapes().values() if len(t.nodes) == len(tape.nodes)]
    deadline = lab.deadline(3.0)
    for at in range(200):
        step = tapes[at % len(tapes)]
        made = step.run(arm.bindings)
        pick = {n: made[n] for n in root.outputs if n in made}
        value = {}
        for which in {spare, learn}:
            given = {**pick, taken: made[which]}
            value[which] = step.run(arm.bindings, given=given)[step.loss.index]
        optimizer.zero_grad()
        value[learn].sum().backward()
        optimizer.step()
        losses.append(float(value[spare].detach().sum()))
        if clock.now() > deadline:
            break
    return losses
