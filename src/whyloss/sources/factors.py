"""Weights that are frozen and all zero, where they are multiplied with something: what comes out is zero, whatever goes in."""

import torch

from whyloss.sources.window import Window

_VIEWS = {"T", "mT", "t", "transpose", "permute", "contiguous", "to", "float", "double", "half", "bfloat16", "type_as", "clone", "detach", "data",
          "unsqueeze", "view", "reshape", "squeeze", "swapaxes"}
_SECOND = {"linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "embedding"}  # (input, weight, ...)
_ANY = {"matmul", "mm", "bmm", "einsum", "mv", "__matmul__", "__rmatmul__", "addmm", "baddbmm"}
LISTED = 200


def observe(watch, window: Window, ancestors: set[int]) -> None:
    """One row for each such weight that the loss depends on: where, and through which parameters its other factor goes."""
    held = {id(p) for o in watch.optimizers.values() for group in o.param_groups for p in group["params"]}
    frozen = {at for at, meta in enumerate(window.meta) if meta.maker < 0 and not meta.wants_grad
              and (isinstance(meta.tensor, torch.nn.Parameter) or id(meta.tensor) in held or watch.switched.off(meta.tensor))
              and _frozen_at_zero(meta.tensor)}
    if not frozen:
        return
    origin = {at: at for at in frozen}  # views of them too
    seen: set[int] = set()
    for number in sorted(ancestors):
        step = window.trace[number]
        first = step.inputs[0] if step.inputs else None
        if step.name in _VIEWS and first in origin:
            origin.update(dict.fromkeys(step.outputs, origin[first]))
            continue
        for factor in step.inputs[1:2] if step.name in _SECOND else step.inputs if step.name in _ANY else ():
            weight = origin.get(factor)
            if weight is None or weight in seen or step.name in _ANY and window.meta[weight].shape[0] == 1:
                continue  # one row may be a state to start from
            seen.add(weight)
            tensor = watch.shards.parameter(window.meta[weight].tensor)
            watch.gradients.parameters.setdefault(id(tensor), tensor)
            watch.program.know_leaf(tensor)
            behind = sorted(_parameters_behind(window, [i for i in step.inputs if i != factor]) - {weight})
            row = {"operation": step.name, "place": step.place, "behind": [watch.name(window.meta[i].tensor) for i in behind][:LISTED]}
            watch.observe("frozen_factor", row, watch.name(tensor))


def _frozen_at_zero(tensor) -> bool:
    return not tensor.requires_grad and tensor.is_leaf and not tensor.is_meta and tensor.dim() >= 2 and tensor.is_floating_point() \
        and not bool(tensor.any())


def _parameters_behind(window: Window, start: list[int]) -> set[int]:
    """Indexes of the parameters that these tensors were computed from."""
    found, stack, done = set(), list(start), set()
    while stack:
        at = stack.pop()
        if at in done:
            continue
        done.add(at)
        meta = window.meta[at]
        if meta.maker < 0:
            if isinstance(meta.tensor, torch.nn.Parameter) or meta.wants_grad:
                found.add(at)
        else:
            stack.extend(window.trace[meta.maker].inputs)
    return found
