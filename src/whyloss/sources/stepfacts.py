"""Facts of one traced step, read off its operations just before backward runs."""

import math

import torch

from whyloss.sources import confusion, factors, lossterms, meters, weights
from whyloss.sources.lossfunctions import CLASS_LOSSES, LossCall, read_call

VIEWS = {"view", "reshape", "flatten", "squeeze", "unsqueeze", "transpose", "permute", "t", "T", "contiguous", "float",
         "to", "__getitem__", "mT", "movedim", "expand", "expand_as", "type_as", "double", "clone", "chunk", "split", "unbind"}
POOLS = {"mean", "amax", "avg_pool1d", "avg_pool2d", "avg_pool3d", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d",
         "max_pool1d", "max_pool2d", "adaptive_max_pool1d", "adaptive_max_pool2d"}
STEP_FUNCTIONS = {"round", "floor", "ceil", "sign", "trunc", "heaviside", "sgn", "round_", "sign_"}
_BINARY = {"add", "sub", "mul", "div", "__add__", "__sub__", "__mul__", "__truediv__", "__radd__", "__rsub__", "__rmul__",
           "__rtruediv__", "rsub", "pow", "__pow__", "subtract", "multiply", "divide", "true_divide", "maximum", "minimum", "where"}
_DIVISIONS = {"div", "truediv", "itruediv", "divide", "true_divide"}
_SHAPE_ONLY = {"zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "randint_like", "new_zeros", "new_ones", "new_empty",
               "new_full", "new_tensor"}  # take a tensor in for its shape, and pass no value on
_NORMALISERS = {"softmax": "softmax", "sigmoid": "sigmoid", "log_softmax": "log_softmax", "relu": "relu", "tanh": "tanh"}


def of_step(watch, window, loss, reached, where) -> None:
    """Everything a check may want to know of this step."""
    ancestors = _ancestors(window, loss)
    _loss_made(watch, window, loss)
    ids = {id(leaf) for leaf in reached}
    watch.ever_reached.update(ids)
    for at in sorted(ancestors):
        step = window.trace[at]
        _cut(watch, window, step, ancestors)
        _broadcast(watch, window, step)
    _exits(watch, window, ancestors)
    for at, step in enumerate(window.trace):
        call = read_call(step.name, step.args, step.kwargs)
        if call is not None:
            _loss_call(watch, window, step, call, at in ancestors)
    _normaliser(watch, window, ancestors)
    _stacked(watch, window, ancestors)
    _roots(watch, window, ancestors, ids, loss)
    lossterms.of_step(watch, window, loss, ancestors)
    _inputs(watch, window)
    if watch.window_count < 3:
        factors.observe(watch, window, ancestors)
        half = sum(window.meta[o].dtype == torch.float16 for step in window.trace for o in step.outputs)
        watch.observe("half_operations", half)


def _ancestors(window, loss) -> set[int]:
    """Indexes of the traced operations that the loss's value depends on."""
    return _made_by(window, window.index.get(id(loss)))


def _made_by(window, start: int | None) -> set[int]:
    """Indexes of the traced operations that a tensor's value depends on."""
    found: set[int] = set()
    stack = [start] if start is not None else []
    while stack:
        maker = window.meta[stack.pop()].maker
        if maker >= 0 and maker not in found:
            found.add(maker)
            stack.extend(window.trace[maker].inputs)
    return found


def _loss_made(watch, window, loss) -> None:
    """The line that computed the tensor which backward() is called on."""
    at = window.index.get(id(loss))
    maker = window.meta[at].maker if at is not None else -1
    if maker >= 0:
        step = window.trace[maker]
        watch.observe("loss_made", {"operation": step.name, "module": step.module, "factor": _number_factor(step)}, step.place or "?")


def _number_factor(step) -> float | None:
    """What the last operation before backward() scales the loss by, if it is a number: 0.25 of loss / 4."""
    numbers = [float(a) for a in step.args if isinstance(a, (int, float)) and not isinstance(a, bool)]
    if len(numbers) != 1 or len(step.inputs) != 1 or not numbers[0]:
        return None
    plain = step.name.strip("_")
    return numbers[0] if plain in ("mul", "rmul", "imul", "multiply") else 1 / numbers[0] if plain in _DIVISIONS else None


def _enters(window, step, ancestors) -> str | None:
    """Where the result of a gradient-free stretch first meets an operation with gradients on."""
    wanted = set(step.outputs)
    for at in sorted(ancestors):
        following = window.trace[at]
        if wanted.intersection(following.inputs):
            if following.grad_enabled:
                return following.place
            wanted.update(following.outputs)
    return None


def _cut(watch, window, step, ancestors) -> None:
    """An operation on the way to the loss whose inputs want a gradient and whose output has none."""
    wants = [window.meta[i].wants_grad for i in step.inputs]
    outputs = [window.meta[o] for o in step.outputs]
    if not any(wants) or not outputs or step.name in _SHAPE_ONLY:
        return
    if not any(o.wants_grad for o in outputs):
        watch.observe("cut", {"operation": step.name, "module": step.module, "grad_enabled": step.grad_enabled,
                              "enters": None if step.grad_enabled else _enters(window, step, ancestors),
                              "shape": list(outputs[0].shape), "root": watch.root_label(window)}, step.place or "?")
    elif step.name in STEP_FUNCTIONS:
        watch.observe("step_function", {"operation": step.name, "module": step.module}, step.place or "?")


def _exits(watch, window, ancestors) -> None:
    """Numbers taken out of torch from tensors of this step that carry a gradient and lie on no way to the loss (a printed loss cuts nothing)."""
    for step in window.trace:
        if step.outputs or not step.inputs or not window.meta[step.inputs[0]].wants_grad:
            continue
        maker = window.meta[step.inputs[0]].maker
        if maker < 0 or maker in ancestors or window.meta[step.inputs[0]].leaf:
            continue
        behind = {window.trace[at].module for at in _made_by(window, step.inputs[0])}
        watch.observe("left_torch", {"operation": step.name, "module": step.module, "behind": sorted(behind)[:200]}, step.place or "?")


def _broadcast(watch, window, step) -> None:
    if step.name not in _BINARY or len(step.inputs) < 2 or not step.outputs:
        return
    first, second = window.meta[step.inputs[0]], window.meta[step.inputs[1]]
    out = window.meta[step.outputs[0]]
    big, one, two = math.prod(out.shape), math.prod(first.shape), math.prod(second.shape)
    if big > one and big > two and min(one, two) > 1 and first.wants_grad != second.wants_grad:
        watch.observe("broadcast", {"operation": step.name, "module": step.module, "shapes": [list(first.shape), list(second.shape)],
                                    "result": list(out.shape)}, step.place or "?")
    elif len(out.shape) == 2 and one == two == out.shape[0] == out.shape[1] > 1 and not first.wants_grad and not second.wants_grad:
        column = step.inputs[0 if len(first.shape) == 2 else 1]
        if first.shape != second.shape and not _made_a_column(window, column):
            watch.observe("outer", {"operation": step.name, "module": step.module, "shapes": [list(first.shape), list(second.shape)],
                                    "result": list(out.shape)}, step.place or "?")


def _made_a_column(window, tensor: int) -> bool:
    """Did the user ask for the extra axis: unsqueeze, x[:, None], a view? Then the outer operation is meant."""
    for _ in range(6):
        maker = window.meta[tensor].maker
        if maker < 0:
            return True  # it came so from outside: who knows
        step = window.trace[maker]
        if step.name in ("unsqueeze", "__getitem__", "view", "reshape", "expand", "stack", "t", "transpose"):
            return True
        if step.name not in ("detach", "clone", "float", "to", "no_grad") or not step.inputs:
            return False
        tensor = step.inputs[0]
    return True


def producer(window, tensor_index: int) -> tuple[str, str, str | None, object]:
    """(operation, module, place, step) that made a tensor, looking through views and casts."""
    for _ in range(12):
        maker = window.meta[tensor_index].maker
        if maker < 0:
            return "input", "", None, None
        step = window.trace[maker]
        if step.name not in VIEWS or not step.inputs:
            return step.name, step.module, step.place, step
        tensor_index = step.inputs[0]
    return "?", "", None, None


def pooled_from(window, made_by) -> dict | None:
    """{"operation", "place"} of what was pooled, where averaging or pooling over space made the tensor and the classes kept their axis."""
    if made_by is None or made_by.name not in POOLS or not made_by.inputs or not window.meta[made_by.outputs[0]].shape:
        return None
    made, _, where, _ = producer(window, made_by.inputs[0])
    return {"operation": made.rstrip("_"), "place": where}


def _loss_call(watch, window, step, call: LossCall, counts: bool) -> None:
    at = window.index.get(id(call.prediction))
    made, module, made_at, made_by = producer(window, at) if at is not None else ("?", "", None, None)
    prediction = call.prediction.detach().float()
    row = {"function": call.name, "reduction": call.reduction, "module": step.module, "counts": counts,
           "shape": list(prediction.shape), "target_shape": list(call.target.shape) if call.target is not None else None,
           "target_dtype": str(call.target.dtype).replace("torch.", "") if call.target is not None else None,
           "producer": made.rstrip("_"), "producer_module": module, "producer_place": made_at,
           "ignore_index": call.ignore_index, "smoothing": call.smoothing, "weighted": call.weight is not None or call.pos_weight is not None,
           "value": float(step.result.detach().float().mean()) if isinstance(step.result, torch.Tensor) else None,
           "min": float(prediction.min()), "max": float(prediction.max()), "std": float(prediction.std()) if prediction.numel() > 1 else 0.0}
    row["pooled_from"] = pooled_from(window, made_by)
    if made_by is not None and made.rstrip("_") in ("softmax", "log_softmax"):
        row["producer_shape"] = list(window.meta[made_by.inputs[0]].shape)
        row["producer_dim"] = normalised_axis(made_by, row["producer_shape"])
    if made_by is not None and made_by.inputs and made.rstrip("_") in ("clamp", "clip", "clamp_min", "hardtanh"):
        row["cut_from"] = producer(window, made_by.inputs[0])[0].rstrip("_")
    if prediction.dim() >= 2 and prediction.shape[0] > 1:
        total = float(prediction.var()) + 1e-30
        row["between_samples"] = float(prediction.var(0).mean()) / total
        sums = prediction.sum(1)
        row["row_sum_error"] = float((sums - 1).abs().max())
        row["exp_row_sum_error"] = float((prediction.clamp(max=30).exp().sum(1) - 1).abs().max())
    elif prediction.dim() == 1 and prediction.numel() > 1:
        row["between_samples"] = float(prediction.var())
    row.update(_target(call, prediction))
    row.update(reach(row["producer"], call.target, prediction))
    watch.observe("loss_call", row, step.place or "?")
    for quantity in ("label_entropy", "chance", "accuracy"):
        if counts and quantity in row:
            watch.observe(quantity, row[quantity])


_RANGES = {"sigmoid": (0.0, 1.0), "softmax": (0.0, 1.0), "tanh": (-1.0, 1.0), "hardtanh": (-1.0, 1.0), "relu": (0.0, math.inf), "relu6": (0.0, 6.0)}


def reach(made: str, target, prediction: torch.Tensor) -> dict:
    """Mean squared error that is left when every output is as close to its target as the last activation allows."""
    if made not in _RANGES or target is None or target.shape != prediction.shape:
        return {}
    wanted = target.detach().float()
    return {"reach_floor": float((wanted - wanted.clamp(*_RANGES[made])).pow(2).mean())}


def _target(call: LossCall, prediction: torch.Tensor) -> dict:
    if call.target is None or not call.target.numel():
        return {}
    target = call.target.detach()
    row = {"target_min": float(target.min()), "target_max": float(target.max()),
           "target_std": float(target.float().std()) if target.numel() > 1 else 0.0, "target_mean": float(target.float().mean()),
           "target_non_finite": int((~torch.isfinite(target.float())).sum())}
    if target.is_floating_point() and prediction.numel() == target.numel() <= 65536:
        row["target_whole"] = bool((target == target.round()).all())
        row["target_entropy"] = meters.entropy(target) if row["target_whole"] else 0.0
    if call.name in CLASS_LOSSES and not target.is_floating_point() and prediction.dim() >= 2:
        kept = target[target != call.ignore_index] if call.ignore_index is not None else target
        row["classes"], row["chance"] = prediction.shape[1], math.log(max(prediction.shape[1], 1))
        row["ignored_share"] = 1 - kept.numel() / target.numel()
        if kept.numel():
            row["label_entropy"], row["labels_seen"] = meters.entropy(kept), int(kept.unique().numel())
        guess = prediction.argmax(1)
        if guess.shape == target.shape:
            row["accuracy"] = float((guess == target).float().mean())
            row["confusion"] = confusion.table(prediction, target)
    elif call.name.startswith("binary_cross_entropy"):
        share = min(max(float(target.float().mean()), 0.0), 1.0)
        row["label_entropy"] = -sum(p * math.log(p) for p in (share, 1 - share) if 0 < p < 1)
        row["chance"] = math.log(2)
        if target.shape == prediction.shape:
            edge = 0.5 if call.name == "binary_cross_entropy" else 0.0
            row["accuracy"] = float(((prediction > edge) == (target > 0.5)).float().mean())
            row["confusion"] = confusion.table(prediction, target, edge=edge)
    return row


def _stacked(watch, window, ancestors) -> None:
    """Linear layers whose input comes straight from another linear layer: nothing between but views."""
    linear = {"linear", "conv1d", "conv2d", "conv3d"}
    for at in sorted(ancestors):
        step = window.trace[at]
        if step.name in linear and step.inputs:
            made, module, _, _ = producer(window, step.inputs[0])
            kind = "stacked" if made in linear and module != step.module else "separate" if made != "input" else "first"
            watch.observe("linear_after", {"kind": kind, "before": module}, step.module or step.place or "?")


def normalised_axis(step, shape: list[int]) -> int | None:
    """The axis of a softmax call; where none is given, the one that torch falls back to."""
    dim = step.kwargs.get("dim", step.args[1] if len(step.args) > 1 else None)
    return dim if dim is not None else 0 if len(shape) in (0, 1, 3) else 1


def _normaliser(watch, window, ancestors) -> None:
    """softmax and log_softmax calls on the way to the loss: over which axis."""
    for at in sorted(ancestors):
        step = window.trace[at]
        if step.name in ("softmax", "log_softmax") and step.inputs:
            shape = list(window.meta[step.inputs[0]].shape)
            row = {"function": step.name, "dim": normalised_axis(step, shape), "shape": shape, "module": step.module}
            if len(shape) > 1 and row["dim"] in (0, -len(shape)):
                row.update(weights.of_first_axis(window, step))
            watch.observe("normalised_over", row, step.place or "?")


def _roots(watch, window, ancestors, reached_ids, loss) -> None:
    """Does the loss depend on what each root module returned, and are its parameters reached?"""
    for module, _, outputs, where in window.calls:
        makers = {window.meta[window.index[id(t)]].maker for t in outputs if id(t) in window.index}
        inputs_wanted = [window.index[id(t)] for t in outputs if id(t) in window.index]
        read = _used_tensors(window, ancestors, loss)
        used = any(m in ancestors for m in makers) or any(i in read for i in inputs_wanted)
        idle = [t for t in outputs if t.requires_grad and window.index.get(id(t)) not in read and not _touched(window, t)]
        parameters = [watch.shards.parameter(p) for p in module.parameters()]
        watch.observe("root", {"module": type(module).__name__, "outputs_used": used, "training": bool(module.training),
                               "parameters": len(parameters), "trainable": sum(p.requires_grad for p in parameters),
                               "reached": sum(id(p) in reached_ids for p in parameters), "idle_outputs": len(idle),
                               "output_wants_grad": any(t.requires_grad for t in outputs)}, where or "?")
    # a sharded model is still gathered here: those tensors' memory is released at the end of backward, and reading them then kills the process
    of_models = [watch.shards.parameter(p) for m, *_ in window.calls for p in m.parameters() if not p.is_meta]
    for parameter in list(watch.gradients.parameters.values()) + of_models:
        watch.gradients.parameters.setdefault(id(parameter), parameter)
    for parameter in watch.gradients.parameters.values():
        watch.observe("reached", int(id(parameter) in reached_ids), watch.name(parameter))


def _touched(window, tensor) -> bool:
    """Whether anything at all was computed from a tensor in this step."""
    at = window.index.get(id(tensor))
    return at is None or any(at in step.inputs for step in window.trace)


def _used_tensors(window, ancestors, loss) -> set[int]:
    used = {window.index.get(id(loss), -1)}
    for at in ancestors:
        used.update(window.trace[at].inputs)
    return used


def _inputs(watch, window) -> None:
    """The batch as the model got it: scale, constancy, fingerprints."""
    if not window.calls:
        return
    module, inputs, _, where = window.calls[0]
    tensor = next((t for t in inputs if t.numel() and t.dim() >= 1), None)
    if tensor is None:
        return
    values = tensor.detach().float()
    bad = int((~torch.isfinite(values)).sum())
    row = {"shape": list(tensor.shape), "dtype": str(tensor.dtype).replace("torch.", ""), "non_finite": bad,
           "min": float(values.min()), "max": float(values.max()), "mean": float(values.mean()),
           "std": float(values.std()) if values.numel() > 1 else 0.0, "floating": tensor.is_floating_point()}
    if bad and values.dim() == 2:
        row["non_finite_columns"] = (~torch.isfinite(values)).any(0).nonzero().flatten()[:5].tolist()
    if values.dim() >= 2 and values.shape[0] > 1:
        row["between_samples"] = float(values.reshape(values.shape[0], -1).std(0).mean())
        if values.shape[0] <= 512:
            row["distinct_rows"] = len({bytes(r) for r in map(lambda r: r.numpy().tobytes(), values.reshape(values.shape[0], -1).cpu())})
    watch.observe("input", row, where or "?")
    watch.evaluation.training_batch(tensor)
