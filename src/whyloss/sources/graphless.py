"""A backward() on a tensor that no graph leads to: what its value depends on, and where the gradient was lost."""

import torch

from whyloss.sources.window import storage

EXITS = {"item", "tolist", "numpy", "__float__", "__int__", "__array__", "__bool__", "__index__"}


def ancestors(window, at: int | None) -> set[int]:
    """Indexes of the traced operations that a tensor's value depends on."""
    found: set[int] = set()
    stack = [at] if at is not None else []
    while stack:
        maker = window.meta[stack.pop()].maker
        if maker >= 0 and maker not in found:
            found.add(maker)
            stack.extend(window.trace[maker].inputs)
    return found


def trainable_leaves(window, at: int | None, made_by: set[int]) -> dict[int, torch.Tensor]:
    """id -> leaf that wants a gradient, among what a tensor's value was computed from."""
    indexes = {i for step in made_by for i in window.trace[step].inputs} | ({at} if at is not None else set())
    metas = [window.meta[i] for i in indexes]
    return {id(m.tensor): m.tensor for m in metas if m.leaf and m.wants_grad and m.tensor.is_floating_point()}


def lost_at(window, made_by: set[int]) -> dict | None:
    """The operation that lost the gradient: its inputs want one, its result has none. The last one, in a gradient-free stretch the first."""
    cuts = []
    for at in sorted(made_by):
        step = window.trace[at]
        if any(window.meta[i].wants_grad for i in step.inputs) and step.outputs and not any(window.meta[o].wants_grad for o in step.outputs):
            cuts.append((at, step))
    with_grad = [step for _, step in cuts if step.grad_enabled]
    if with_grad:
        step = with_grad[-1]
        return {"operation": step.name.rstrip("_") if not step.name.startswith("__") else step.name, "place": step.place, "module": step.module,
                "grad_enabled": True}
    if cuts:
        at, step = cuts[0]
        enters = next((window.trace[i].place for i in sorted(made_by) if i > at and window.trace[i].grad_enabled), None)
        return {"operation": "no_grad", "place": step.place, "module": step.module, "grad_enabled": False, "enters": enters}
    return None


def last_exit(window, known: dict) -> dict | None:
    """The last number taken out of torch whose value depends on a trainable leaf."""
    for step in reversed(window.trace):
        if step.outputs or step.name not in EXITS or not step.inputs:
            continue
        made_by = ancestors(window, step.inputs[0])
        if trainable_leaves(window, step.inputs[0], made_by):
            cut = lost_at(window, made_by)
            return cut if cut is not None and not cut["operation"] == "detach" else {
                "operation": step.name.strip("_"), "place": step.place, "module": step.module, "grad_enabled": True}
    return None


def observe(watch, window, loss: torch.Tensor, where: str | None) -> None:
    """Facts of a loss without a graph, just before backward() raises, or reaches nothing but the loss itself."""
    row = {"raises": not loss.requires_grad, "frozen": 0, "trainable": 0, "depends": False, "cut": None, "made": None, "names": [], "module": None,
           "called": watch.evaluation.place if window is not None and window.evaluation else None}
    if window is not None and window.trace:
        _look(watch, window, loss, row)
    watch.observe("gradient_free_loss", row, where or "backward")


def _look(watch, window, loss, row) -> None:
    at = _index(window, loss)
    made_by = ancestors(window, at)
    leaves = {key: leaf for key, leaf in trainable_leaves(window, at, made_by).items() if leaf is not loss}
    parameters = {id(m.tensor): m.tensor for m in window.meta if isinstance(m.tensor, torch.nn.Parameter)}
    used = {id(window.meta[i].tensor) for step in made_by for i in window.trace[step].inputs}
    row["trainable"] = sum(p.requires_grad for p in parameters.values())
    row["frozen"] = sum(not p.requires_grad for key, p in parameters.items() if key in used)
    row["depends"] = bool(leaves)
    if leaves:
        row["cut"] = lost_at(window, made_by)
        row["names"] = [watch.name(leaf) for leaf in list(leaves.values())[:200]]
    elif not row["frozen"]:
        row["cut"] = last_exit(window, parameters)
    if row["frozen"] and not leaves:
        row["names"] = [watch.name(p) for key, p in parameters.items() if key in used][:200]
    maker = window.meta[at].maker if at is not None else -1
    row["made"] = window.trace[maker].place if maker >= 0 else None
    row["module"] = type(window.calls[0][0]).__name__ if window.calls else None


def _index(window, loss: torch.Tensor) -> int | None:
    """Where the trace knows the loss: as itself, or as the tensor whose memory it shares (`Variable(loss.data)`)."""
    at = window.index.get(id(loss))
    if at is not None and window.meta[at].maker >= 0:
        return at
    memory = storage(loss)
    if memory:
        for known in range(len(window.meta) - 1, -1, -1):
            meta = window.meta[known]
            if meta.maker >= 0 and meta.tensor is not loss and meta.shape == tuple(loss.shape) and storage(meta.tensor) == memory:
                return known
    return at
