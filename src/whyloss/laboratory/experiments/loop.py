"""Repairs of the loop, the optimizer and the graph: one change, the user's own step beside it."""

import copy

import torch

from whyloss.errors import CannotReplay
from whyloss.laboratory import interventions
from whyloss.laboratory.lab import STEPS, experiment
from whyloss.laboratory.sandbox import Plan
from whyloss.sources import copies

DEFAULT_RATE = 1e-3
SUNK = 4.0     # times its first value: a loss that falls so far below 0 has no bound


def same_kind(arm, parameters):
    """The user's first optimizer's class and settings over other parameters; Adam 1e-3 where there is none."""
    for optimizer in arm.optimizers.values():
        with copies.whole():
            twin = copy.deepcopy(optimizer)
        settings = {k: v for k, v in optimizer.param_groups[0].items() if k != "params"}
        twin.state.clear()
        twin.param_groups = [{**settings, "params": list(parameters)}]
        if float(settings.get("lr", DEFAULT_RATE)) == 0.0:
            twin.param_groups[0]["lr"] = DEFAULT_RATE
        for inner in vars(twin).values():  # of a class that steps through another one
            if isinstance(inner, torch.optim.Optimizer):
                inner.param_groups = twin.param_groups
                inner.state.clear()
        return twin
    return torch.optim.Adam(list(parameters), lr=DEFAULT_RATE)


def _compare(lab, name, change, plan, *, control=None, steps=STEPS, **facts):
    control = lab.control(steps=steps) if control is None else control
    return lab.paired(name, change, control, lab.train(name, plan, steps=steps), **facts)


@experiment("step-after-backward")
def step_after_backward(lab, asks):
    held = any(group["params"] for o in lab.program.optimizers.values() for group in o.param_groups)
    plan = Plan(loop="canonical", make_optimizer=None if held else same_kind)
    return _compare(lab, "step-after-backward", "a step after each backward", plan)


@experiment("clear-gradients")
def clear_gradients(lab, asks):
    return _compare(lab, "clear-gradients", "gradients cleared before each backward", Plan(loop="canonical"))


@experiment("keep-gradients")
def keep_gradients(lab, asks):
    return _compare(lab, "keep-gradients", "gradients kept until the step", Plan(loop="canonical"))


@experiment("fresh-optimizer")
def fresh_optimizer(lab, asks):
    """asks: between  layers that nobody loaded lie outside between layers that are trained: twice the steps, for a smaller gain tells"""
    between = bool(asks.get("between"))
    return _compare(lab, "fresh-optimizer", "an optimizer of the same kind over every trainable parameter",
                    Plan(loop="canonical", make_optimizer=same_kind, own_schedule=True), steps=2 * STEPS if between else STEPS, between=between)


@experiment("constant-learning-rate")
def constant_learning_rate(lab, asks):
    """The run's own learning rates by step against the first one kept (asks: rate)."""
    series = next(iter(lab.evidence.by_subject("learning_rate").values()), None)
    if series is None:
        raise CannotReplay("no learning rate was observed")
    rates = list(series.values)
    first = float(asks.get("rate") or max(rates))
    steps = min(max(STEPS, 0), max(len(rates), 40))
    control = lab.train("control", Plan(rate=lambda step, base: rates[min(step, len(rates) - 1)], freeze_schedule=True), steps=steps)
    changed = Plan(rate=lambda step, base: first, freeze_schedule=True)
    return _compare(lab, "constant-learning-rate", f"learning rate kept at {first:g}", changed, control=control, steps=steps)


@experiment("without-clipping")
def without_clipping(lab, asks):
    first = bool(asks.get("unscale_first"))
    if asks.get("norm"):
        control = lab.train("control", Plan(norm=float(asks["norm"])))
        return _compare(lab, "without-clipping", "clipping taken off", Plan(), control=control)
    plan = Plan(clipping=first, unscale_first=first)
    return _compare(lab, "without-clipping", "clipping behind the unscaling" if first else "clipping taken off", plan)


@experiment("train-mode")
def train_mode(lab, asks):
    return _compare(lab, "train-mode", "the whole model in train mode", Plan(train_mode=True))


@experiment("recompute-forward")
def recompute_forward(lab, asks):
    return _compare(lab, "recompute-forward", "the prediction computed anew in each step", Plan(loop="canonical"))


def switch_on(arm) -> None:
    """requires_grad on every floating-point leaf."""
    for leaf in arm.leaves.values():
        if leaf.is_floating_point():
            leaf.requires_grad_(True)


@experiment("unfreeze")
def unfreeze(lab, asks):
    """asks: only  names of the parameters to switch on, in place of every one"""
    if asks.get("only"):
        inside = {id(p) for module in lab.program.modules.values() for p in module.parameters()}
        chosen = [key for key, leaf in lab.program.leaves.items() if lab.program.names.get(key) in asks["only"] and id(leaf) in inside]
        if not chosen:
            raise CannotReplay(f"{asks['only'][0]} is a fixed number of the recorded steps")

        def prepare(arm):
            for key in chosen:
                arm.leaves[key].requires_grad_(True)
        return _compare(lab, "unfreeze", f"requires_grad on for {', '.join(asks['only'][:4])}",
                        Plan(loop="canonical", prepare=prepare, make_optimizer=same_kind))
    return _compare(lab, "unfreeze", "requires_grad on for every parameter",
                    Plan(loop="canonical", prepare=switch_on, make_optimizer=same_kind))


@experiment("attach-graph")
def attach_graph(lab, asks):
    return _compare(lab, "attach-graph", "detach, no_grad and step functions let the gradient through",
                    Plan(loop="canonical", around=interventions.attached(), prepare=lambda arm: _let_through(arm),
                         make_optimizer=same_kind))


def _let_through(arm) -> None:
    arm.bindings.ignore_no_grad = True


@experiment("flip-sign")
def flip_sign(lab, asks):
    def downhill(arm, parameters):
        optimizer = same_kind(arm, parameters)
        for group in optimizer.param_groups:
            if "maximize" in group:
                group["maximize"] = False
        return optimizer

    maximised = any(g.get("maximize") for o in lab.program.optimizers.values() for g in o.param_groups)
    if maximised:
        return _compare(lab, "flip-sign", "maximize off", Plan(make_optimizer=downhill))
    if asks.get("uphill"):
        return _downhill(lab, asks)
    control = lab.control()
    changed = _turned(lab.train("flip-sign", Plan(loss_scale=-1.0)))
    if asks.get("bottomless"):
        if not _has_targets(lab):
            raise CannotReplay("nothing but the model's outputs enters the loss: it may be a reward, or a critic's score")
        part = max(1, len(changed) // 5)
        begins, ends = (_middle(changed[:part]), _middle(changed[-part:])) if changed else (0.0, 0.0)
        if not -SUNK * abs(changed[0] if changed else 0.0) < ends < begins:
            raise CannotReplay("turned round it falls without bound as well, or does not fall: it is no loss with its sign turned")
    return lab.paired("flip-sign", "the sign of the objective turned", _turned(control), changed)


def _turned(losses) -> list[float]:
    """What has diverged stays the worst that can be."""
    return [-v if abs(v) < float("inf") else float("inf") for v in losses]


def _middle(values) -> float:
    return float(torch.tensor(values, dtype=torch.float64).median())


def _downhill(lab, asks):
    """Updates by hand keep a state that a replay does not know: the same batches by Adam, once along the gradient and once against it."""
    if not asks.get("known") and not _has_labels(lab):
        raise CannotReplay("no labels reach the loss: it may be a reward, which is meant to rise")

    def adam(up):
        return Plan(loop="canonical", make_optimizer=lambda arm, parameters: torch.optim.Adam(list(parameters), lr=1e-3, maximize=up))

    return lab.paired("flip-sign", "updates against the gradient, not along it (Adam 1e-3)", lab.control(adam(True)),
                      lab.train("flip-sign", adam(False)))


def _beside(lab) -> tuple:
    """A step, and the keys of its constants that meet the outputs of the model without having gone into it."""
    tape = next(iter(lab.program.whole_tapes().values()))
    given = {ref for node in tape.nodes if node.module is not None for ref in node.inputs if isinstance(ref, int)}
    return tape, {ref for node in tape.nodes if node.module is None for ref in node.inputs if isinstance(ref, int)} - given


def _has_targets(lab) -> bool:
    """Whether rows of numbers, not all the same, meet the outputs of the step."""
    tape, used = _beside(lab)
    return any(tape.constants[ref].dim() and bool((tape.constants[ref] != tape.constants[ref].flatten()[:1]).any()) for ref in used)


def _has_labels(lab) -> bool:
    """Whether class ids, or zeros and ones, meet the outputs of the step."""
    tape, used = _beside(lab)
    return any(tape.constants[ref].dim() and tape.constants[ref].numel() > 1 and bool(((tape.constants[ref] == 0) | (tape.constants[ref] == 1)).all())
               or not tape.constants[ref].is_floating_point() and tape.constants[ref].dim() == 1 and tape.constants[ref].numel() > 1 for ref in used)


@experiment("larger-epsilon")
def larger_epsilon(lab, asks):
    """Single precision and epsilon 1e-4: the update 0/0 cannot happen."""
    def prepare(arm):
        for module in arm.modules.values():
            module.float()
        for leaf in arm.leaves.values():
            leaf.data = leaf.data.float()

    def in_single(key, tensor):
        return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor

    dtype = next((leaf.dtype for leaf in lab.program.leaves.values()), torch.float32)
    plan = Plan(settings={"eps": 1e-4}, prepare=prepare, change_constant=in_single) if dtype != torch.float32 else Plan(settings={"eps": 1e-4})
    return _compare(lab, "larger-epsilon", "epsilon 1e-4" + (" and weights in float32" if dtype != torch.float32 else ""), plan)
