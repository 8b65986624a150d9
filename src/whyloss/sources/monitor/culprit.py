"""Which operation made a loss non-finite: read off the graph that the loss still holds, without running anything again.

The graph keeps what backward will need: inputs and results of many operations. The earliest operation that holds a
non-finite number, or gave one to a later operation, is where it began; it is earlier than everything the number spread to.
The layer is that of the nearest parameters before it.
"""

from collections.abc import Iterator

import torch

MOST = 20_000        # operations looked at
_RESULTS = ("_saved_result", "_saved_output", "_saved_result0", "_saved_out")


def culprit(loss: torch.Tensor, names: dict[int, str]) -> dict:
    """names: id of a parameter -> its name. -> operation, layer, why; empty where the graph does not tell."""
    found = None
    for node in _nodes(loss.grad_fn):
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            if _bad(leaf):
                return {"operation": "", "layer": names.get(id(leaf), ""), "why": "a weight is not finite: an earlier step made it"}
            continue
        number = node._sequence_nr()
        if found is None or number < found[0]:
            where = _begins(node)
            if where is not None and (found is None or where._sequence_nr() < found[0]):
                found = where._sequence_nr(), where
    if found is None:
        return {}
    node = found[1]
    operation = type(node).__name__.replace("Backward0", "").replace("Backward", "").lower()
    return {"operation": operation, "layer": _layer(node, names), "why": _why(node)}


def described(found: dict) -> str:
    """In words, for a message."""
    if not found:
        return ""
    place = f" of {found['layer']}" if found["layer"] else ""
    first = f"first in {found['operation']}{place}" if found["operation"] else f"first{place}"
    return f"{first}, {found['why']}" if found["why"] else first


def _nodes(root) -> Iterator:
    """Every operation behind the loss, each once."""
    seen, stack = set(), [root]
    while stack and len(seen) < MOST:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        yield node
        stack.extend(before for before, _ in node.next_functions)


def _begins(node):
    """The operation that made the first non-finite number that `node` shows, or None."""
    for name in dir(node):
        if not name.startswith("_saved_") or name.startswith("_saved_self_"):
            continue
        try:
            values = getattr(node, name)
        except RuntimeError:  # already released
            continue
        for value in values if isinstance(values, (tuple, list)) else (values,):
            if isinstance(value, torch.Tensor) and _bad(value):
                if name in _RESULTS:
                    return node
                maker = value.grad_fn
                return maker if maker is not None else node
    try:
        return node if _fails(node) else None
    except RuntimeError:
        return None


def _fails(node) -> bool:
    """Whether an operation that does not keep its result must have given a non-finite one."""
    kind = type(node).__name__
    if kind in ("LogBackward0", "Log2Backward0", "Log10Backward0"):
        return bool((node._saved_self <= 0).any())
    if kind == "Log1PBackward0":
        return bool((node._saved_self <= -1).any())
    if kind == "DivBackward0" and isinstance(node._saved_other, torch.Tensor):
        return bool((node._saved_other == 0).any())
    return False


def _bad(tensor: torch.Tensor) -> bool:
    if not (tensor.is_floating_point() or tensor.is_complex()) or tensor.layout is not torch.strided:
        return False
    tensor = tensor.detach()
    return not bool(torch.isfinite(tensor.sum())) and not bool(torch.isfinite(tensor).all())


def _layer(node, names: dict[int, str]) -> str:
    """The module of the nearest parameter at or before the operation."""
    queue, seen = [node], set()
    while queue and len(seen) < 256:
        node = queue.pop(0)
        if node is None or node in seen:
            continue
        seen.add(node)
        name = names.get(id(getattr(node, "variable", None)))
        if name:
            return name.rpartition(".")[0] or name
        queue.extend(before for before, _ in node.next_functions)
    return ""


def _why(node) -> str:
    """What the operation was given, where it kept it."""
    try:
        kept = [getattr(node, name) for name in dir(node) if name.startswith("_saved_") and name not in _RESULTS]
        given = getattr(node, "_saved_self", None)
    except RuntimeError:
        return ""
    if any(isinstance(value, torch.Tensor) and _bad(value) for value in kept):
        return "what it was given was not finite either"
    if not isinstance(given, torch.Tensor) or not given.is_floating_point() or not given.numel():
        return ""
    given = given.detach().float()
    zeros = int((given == 0).sum())
    return f"its input was between {float(given.min()):.3g} and {float(given.max()):.3g}" + (f", with {zeros} zeros" if zeros else "")
