"""Views and reshapes that lose an axis: the sizes come out in another order, but the entries stay where they were."""

from whyloss.sources.stepfacts import VIEWS, _ancestors, producer
from whyloss.sources.structure import tensors_in

NAMES = {"view", "reshape"}
_PRODUCTS = {"linear", "matmul", "__matmul__", "addmm", "bmm", "einsum"}


def reordered(before, after) -> bool:
    """Whether a reshape gives the sizes behind the first axis in another order, as permute would have given them."""
    one, two = [n for n in before[1:] if n != 1], [n for n in after[1:] if n != 1]
    return len(before) > 2 and len(after) > 2 and before[0] == after[0] and one != two and sorted(one) == sorted(two)


def turned(before, after) -> bool:
    """Whether the first axis changes its size for that of another one, all sizes being kept: what permute would have done to it."""
    return len(before) == len(after) > 1 and before[0] != after[0] and sorted(before) == sorted(after) and \
        [n for n in before if n != 1] != [n for n in after if n != 1]


def heads_split(before, after) -> bool:
    """(rows, T, H * d) to (rows, H, T, d) in one step."""
    return len(before) == 3 and len(after) == 4 and before[0] == after[0] and after[1] > 1 and before[1] > 1 and \
        after[1] != before[1] and after[2] == before[1] and after[1] * after[3] == before[2]


def heads_joined(before, after) -> bool:
    """(rows, H, T, d) to (rows, T, H * d) in one step."""
    return len(before) == 4 and len(after) == 3 and before[0] == after[0] and before[1] > 1 and before[2] > 1 and \
        before[1] != before[2] and after[1] == before[2] and after[2] == before[1] * before[3]


def of_step(watch, window, loss) -> None:
    """Observe the reshapes on the way to the loss that lose an axis. Grouping that is undone later in the module is none."""
    rows, ancestors = [], _ancestors(window, loss)
    for at in sorted(ancestors):
        step = window.trace[at]
        if step.name in NAMES and step.inputs and step.outputs:
            rows.append((step, window.meta[step.inputs[0]].shape, window.meta[step.outputs[0]].shape))
    undone = {(step.module, after, before) for step, before, after in rows}
    split = [(step.module, after) for step, before, after in rows if heads_split(before, after) and
             producer(window, step.inputs[0])[0] in _PRODUCTS]
    turned = {(s.module, window.meta[s.inputs[0]].shape, window.meta[s.outputs[0]].shape) for s in (window.trace[a] for a in ancestors)
              if s.name in VIEWS and s.inputs and s.outputs}
    for step, before, after in rows:
        if reordered(before, after):
            if (step.module, before, after) in undone:
                continue
            kind = "order"
        elif heads_split(before, after) and split.count((step.module, after)) >= 2:
            kind = "heads split"
        elif heads_joined(before, after) and (step.module, (before[0], before[2], before[1], before[3]), before) in turned:
            kind = "heads joined"
        else:
            continue
        watch.observe("axis_lost", {"operation": step.name, "module": step.module, "before": list(before), "after": list(after), "kind": kind},
                      step.place or "?")


def between_steps(watch, name: str, args, where) -> None:
    """The same for a batch that the loop reshapes before the model is called."""
    tensor = next(tensors_in(args[:1]), None)
    if tensor is None or tensor.dim() < 2 or len(args) < 2:
        return
    sizes = list(args[1]) if isinstance(args[1], (tuple, list)) else list(args[1:])
    if not all(isinstance(n, int) for n in sizes) or sizes.count(-1) > 1:
        return
    if -1 in sizes:
        rest = 1
        for n in sizes:
            rest *= n if n != -1 else 1
        sizes[sizes.index(-1)] = tensor.numel() // max(1, rest)
    samples = turned(tuple(tensor.shape), tuple(sizes))
    if samples or reordered(tuple(tensor.shape), sizes):
        place = where()
        known = watch.evidence.series("axis_lost", place or "?")
        if not known:
            kind = "samples" if samples else "batch"
            watch.observe("axis_lost", {"operation": name, "module": "", "before": list(tensor.shape), "after": sizes, "kind": kind}, place or "?")
