"""Losses written by hand: the difference that is squared, the log-softmax that is picked from, the two logarithms of a binary
cross-entropy. Each becomes a row like that of a called loss function, under a quantity of its own.
"""

import torch

from whyloss.sources import facts, stepfacts  # noqa: F401  (facts first: the two import each other)
from whyloss.sources.lossfunctions import LOSSES, LossCall

_DIFFERENCES = {"sub", "__sub__", "subtract", "rsub", "__rsub__"}
_SQUARES, _SIZES = {"square", "pow", "__pow__", "mul", "__mul__", "multiply"}, {"abs", "__abs__", "absolute"}
_PICKS = {"gather", "take_along_dim", "__getitem__", "index_select"}
_LINEAR = {"neg", "__neg__", "mean", "sum", "mul", "__mul__", "__rmul__", "div", "__truediv__", "negative", "squeeze", "view", "reshape", "flatten"}
_LOGS = {"log", "log_", "log2", "log10"}
_SHIFTS = {"add", "__add__", "__radd__", "clamp", "clip", "clamp_min", "clamp_max", "clamp_", "add_"}


def observe(watch, window, loss) -> None:
    """Write `loss_written` for every such place that the loss depends on."""
    ancestors = stepfacts._ancestors(window, loss)
    users: dict[int, list] = {}
    for at in ancestors:
        for tensor in set(window.trace[at].inputs):
            users.setdefault(tensor, []).append(window.trace[at])
    logs = {}
    for at in sorted(ancestors):
        step = window.trace[at]
        if step.name in _DIFFERENCES:
            _difference(watch, window, step, users)
        elif step.name in ("log_softmax", "logsumexp") and step.inputs:
            if not any(u.name in LOSSES for o in step.outputs for u in _through(window, o, users)):
                _row(watch, window, step, step.name, step.inputs[0], None)
        elif step.name in _PICKS:
            _picked(watch, window, step, users, loss)
        elif step.name in _LOGS and step.inputs and window.meta[step.inputs[0]].wants_grad:
            base, complement = _argument(window, step.inputs[0])
            logs.setdefault(base, {})[complement] = step
    for base, found in logs.items():
        if len(found) == 2:  # log p and log(1 - p) of the same p
            _row(watch, window, found[False], "binary_cross_entropy", base, None)


def _through(window, tensor: int, users: dict) -> list:
    """The operations that take a tensor in, looking through views."""
    found, stack = [], [tensor]
    while stack and len(found) < 20:
        for step in users.get(stack.pop(), []):
            if step.name in stepfacts.VIEWS:
                stack.extend(step.outputs)
            else:
                found.append(step)
    return found


def _difference(watch, window, step, users) -> None:
    if len(step.inputs) != 2 or not step.outputs:
        return
    first, second = (window.meta[i] for i in step.inputs)
    if first.wants_grad == second.wants_grad or len(first.shape) != len(second.shape) or not first.shape or first.shape[0] != second.shape[0]:
        return
    guess, wanted = step.inputs if first.wants_grad else step.inputs[::-1]
    if window.meta[wanted].tensor.numel() < 2:
        return
    after = _through(window, step.outputs[0], users)
    squared = any(u.name == "square" or u.name in _SQUARES and (len(u.inputs) == 1 and 2 in u.args[1:2] or u.inputs == [step.outputs[0]] * 2)
                  for u in after)
    name = "mse_loss" if squared else "l1_loss" if any(u.name in _SIZES for u in after) else None
    if name:
        _row(watch, window, step, name, guess, window.meta[wanted].tensor)


def _picked(watch, window, step, users, loss) -> None:
    """-scores[arange, label].mean(): the loss is minus the entries that whole numbers pick, and nothing else."""
    indices = [window.meta[i].tensor for i in step.inputs[1:]]
    source = window.meta[step.inputs[0]] if step.inputs else None
    whole = indices and all(t.dtype == torch.int64 for t in indices)
    if source is None or not source.wants_grad or len(source.shape) < 2 or not whole or not step.outputs:
        return
    picked = window.meta[step.outputs[0]].tensor.detach().float()
    logarithm = _logarithm_after(window, step.outputs[0], users)  # -log(p[label]): picked first, logarithm after
    if logarithm is not None:
        picked = window.meta[logarithm].tensor.detach().float()
    value = float(loss.detach().float().sum())
    size = max(1e-6, abs(value))
    if min(abs(value + float(picked.mean())), abs(value + float(picked.sum()))) > 1e-4 * size:
        return
    tensor = step.outputs[0]
    for _ in range(8):  # down to the loss by linear operations alone
        after = users.get(tensor, [])
        if len(after) != 1 or after[0].name not in _LINEAR | _LOGS | _SHIFTS or not after[0].outputs:
            break
        tensor = after[0].outputs[0]
    if window.meta[tensor].tensor is loss:
        alone = torch.equal(indices[-1].reshape(-1), torch.arange(indices[-1].numel(), device=indices[-1].device))
        _row(watch, window, step, "nll_loss", step.inputs[0], indices[-1], logged=logarithm is not None, diagonal=alone)


def _logarithm_after(window, tensor: int, users: dict) -> int | None:
    """The logarithm of a tensor, looking through small constants and clamps."""
    for _ in range(4):
        after = users.get(tensor, [])
        if len(after) != 1 or not after[0].outputs or after[0].name not in _SHIFTS | _LOGS:
            return None
        tensor = after[0].outputs[0]
        if after[0].name in _LOGS:
            return tensor
    return None


def _argument(window, tensor: int) -> tuple[int, bool]:
    """(p, whether it is 1 - p) for what stands in a logarithm, looking through small constants and clamps."""
    complement = False
    for _ in range(6):
        maker = window.meta[tensor].maker
        if maker < 0:
            break
        step = window.trace[maker]
        if step.name in ("rsub", "__rsub__") and len(step.inputs) == 1 and 1 in (step.args[1:2] or ()) + tuple(step.args[:1]):
            complement = not complement
        elif step.name not in _SHIFTS or len(step.inputs) != 1:
            break
        tensor = step.inputs[0]
    return tensor, complement


def _row(watch, window, step, name: str, guess: int, target, logged: bool = False, **more) -> None:
    """logged: the loss takes the logarithm of this prediction itself; the row tells of the logarithms."""
    prediction = window.meta[guess].tensor.detach()
    if not prediction.numel() or prediction.is_complex():
        return
    prediction = prediction.float()
    made, module, made_at, made_by = stepfacts.producer(window, guess)
    sums = prediction.sum(1) if prediction.dim() >= 2 and prediction.shape[1] > 1 else None
    if logged:
        prediction = prediction.clamp_min(1e-30).log()
    row = {"function": name, "reduction": "mean", "module": step.module, "counts": True, "written": True, "shape": list(prediction.shape),
           "target_shape": list(target.shape) if target is not None else None, "producer": made.rstrip("_"), "producer_module": module,
           "producer_place": made_at, "pooled_from": stepfacts.pooled_from(window, made_by), "weighted": False, "smoothing": 0.0,
           "value": None, "logged": logged,
           "min": float(prediction.min()), "max": float(prediction.max()), "std": float(prediction.std()) if prediction.numel() > 1 else 0.0}
    if made_by is not None and row["producer"] in ("softmax", "log_softmax"):
        row["producer_shape"] = list(window.meta[made_by.inputs[0]].shape)
        row["producer_dim"] = stepfacts.normalised_axis(made_by, row["producer_shape"])
    if sums is not None:
        row["row_sum_error"] = float((sums - 1).abs().max())
        row["exp_row_sum_error"] = float((prediction.clamp(max=30).exp().sum(1) - 1).abs().max())
    if target is not None:
        if not target.is_floating_point() and name in ("mse_loss", "l1_loss"):
            target = target.float()  # class ids in a difference are numbers
        if target.shape == prediction.shape and target.is_floating_point() or name == "nll_loss":
            row.update(stepfacts._target(LossCall(name, prediction, target, "mean"), prediction))
        else:
            row.update(target_min=float(target.min()), target_max=float(target.max()), target_mean=float(target.float().mean()),
                       target_std=float(target.float().std()) if target.numel() > 1 else 0.0)
    row.update(stepfacts.reach(row["producer"], target, prediction))
    watch.observe("loss_written", {**row, **more}, step.place or "?")
