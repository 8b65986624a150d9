"""The terms that the differentiated loss is a sum of, and scalar sums that were computed beside it: which of them carry a gradient?"""

import math

import torch

from whyloss.sources import facts, gradients
from whyloss.sources.graphless import EXITS, ancestors, lost_at, trainable_leaves

_ADD = {"add", "__add__", "__radd__", "__iadd__", "add_", "sub", "__sub__", "__rsub__", "__isub__", "sub_", "rsub", "subtract"}
_SCALE = {"mul", "__mul__", "__rmul__", "__imul__", "mul_", "multiply", "div", "__truediv__", "__itruediv__", "div_", "divide", "true_divide",
          "neg", "__neg__", "negative", "squeeze", "view", "reshape", "to", "float", "double", "clone", "contiguous", "unsqueeze"}
_GATHER = {"stack", "cat", "hstack", "concat"}
_REDUCE = {"sum", "mean"}
_DEPTH = 64      # additions looked through
_CUTS = 32       # gradients without a graph that are remembered in one step
_NEW = {"tensor", "as_tensor", "zeros", "full", "ones", "empty", "zeros_like", "ones_like", "from_numpy"}
_NAMED = 200     # tensors named in one observation
_LOOKED_AT = 32  # numbers taken out of torch in one step


def of_step(watch, window, loss, made_by: set[int]) -> None:
    """The loss's terms without a gradient (where one was lost on the way), and scalars that were left out of it."""
    at = window.index.get(id(loss))
    if at is None:
        return
    terms, numbers = split(window, at)
    held = {id(p): o for o in watch.optimizers.values() for group in o.param_groups for p in group["params"]}
    graded = {i for i in terms if window.meta[i].wants_grad}
    if len(terms) > 1 and window.cut:
        _cut_by_grad(watch, window, terms, held)
    if len(terms) + len(numbers) > 1 and graded:
        for i in terms:
            _without_gradient(watch, window, i, at, graded, held)
        for value, where in numbers:
            _number(watch, window, value, where, held)
    if len(graded) > 1 and held:
        _trains_nothing(watch, window, graded, held)
    _left_out(watch, window, at, terms, made_by, held)


def note_cut(watch, output, inputs, found, where) -> None:
    """Gradients of what a model made, given without create_graph: numbers that depend on trained leaves and lead to none."""
    window = watch.recorder.window
    held = {id(p) for o in watch.optimizers.values() for group in o.param_groups for p in group["params"]}
    if window is None or len(window.cut) >= _CUTS or output.grad_fn is None or any(id(t) in held for t in inputs):
        return
    leaves = [leaf for leaf in gradients.leaves_of(output)[0] if id(leaf) in held]
    if leaves:
        window.cut += [(tensor, where, leaves) for tensor in found if isinstance(tensor, torch.Tensor) and not tensor.requires_grad]


def _cut_by_grad(watch, window, terms, held: dict) -> None:
    """A term made of such numbers, as the residual of a differential equation is, whose own graph leads to no trained leaf."""
    for i in terms:
        meta = window.meta[i]
        if meta.maker < 0 or _size(meta) != 1:
            continue
        read = {id(window.meta[j].tensor) for step in ancestors(window, i) for j in window.trace[step].inputs}
        cut = next(((where, leaves) for tensor, where, leaves in window.cut if id(tensor) in read), None)
        if cut is None or meta.wants_grad and any(id(leaf) in held for leaf in gradients.leaves_of(meta.tensor)[0]):
            continue
        maker = window.trace[meta.maker]
        lost = {"operation": "autograd.grad without create_graph=True", "place": cut[0], "module": None, "grad_enabled": True,
                "remedy": f"pass create_graph=True to autograd.grad ({cut[0]})"}
        watch.observe("gradless_term", {"value": float(meta.tensor.detach()), "cut": lost, "module": maker.module, "operation": maker.name,
                                        "optimizers": _steppers(watch, cut[1], held)}, maker.place or "?")


def split(window, at: int) -> tuple[dict[int, float], list[tuple[float, str | None]]]:
    """({index of an additive term of a scalar: the factor it is taken with}, numbers added to it with their lines)."""
    terms, numbers, stack = {}, [], [(at, 1.0)]
    for _ in range(_DEPTH):
        if not stack:
            break
        i, factor = stack.pop()
        meta = window.meta[i]
        step = window.trace[meta.maker] if meta.maker >= 0 else None
        if step is None or not meta.wants_grad and i != at or not step.inputs:
            terms[i] = terms.get(i, 0.0) + factor
        elif step.name in _ADD and _size(meta) == 1:
            stack.extend((j, factor * _sign(step, n)) for n, j in enumerate(step.inputs) if j != i)
            numbers += [(float(a), step.place) for a in step.args if isinstance(a, (int, float)) and not isinstance(a, bool) and a]
        elif step.name in _SCALE and _size(meta) == 1 and (wanting := [j for j in step.inputs if window.meta[j].wants_grad]) and len(wanting) == 1:
            others = [j for j in step.inputs if j not in wanting]  # a weight of the term; learned or computed weights are part of it
            if any(trainable_leaves(window, j, ancestors(window, j)) for j in others):
                terms[i] = terms.get(i, 0.0) + factor
            else:
                stack.append((wanting[0], factor * _scale(window, i, wanting[0])))
        elif step.name in _GATHER and all(_size(window.meta[j]) == 1 for j in step.inputs):
            stack.extend((j, factor) for j in step.inputs)
        elif step.name in _REDUCE and _gathered(window, step):
            share = 1.0 / max(1, _size(window.meta[step.inputs[0]])) if step.name == "mean" else 1.0
            stack.extend((j, factor * share) for j in step.inputs)
        else:
            terms[i] = terms.get(i, 0.0) + factor
    return terms | dict(stack), numbers


def _sign(step, n: int) -> float:
    """-1 for the operand that a subtraction takes away."""
    if step.name in ("rsub", "__rsub__"):
        return -1.0 if n == 0 else 1.0
    if step.name not in ("sub", "__sub__", "__isub__", "sub_", "subtract"):
        return 1.0
    number_first = bool(step.args) and isinstance(step.args[0], (int, float))
    return -1.0 if n == 1 or number_first else 1.0


def _scale(window, made: int, of: int) -> float:
    """The factor between two scalars, one of which is the other one scaled; 1 where it cannot be read off."""
    one, other = float(window.meta[made].tensor.detach()), float(window.meta[of].tensor.detach())
    return one / other if other and math.isfinite(one / other) else 1.0


def _gathered(window, step) -> bool:
    """Whether a sum or mean runs over scalars that were stacked for it."""
    if len(step.inputs) != 1:
        return False
    maker = window.meta[step.inputs[0]].maker
    return _size(window.meta[step.inputs[0]]) == 1 or maker >= 0 and window.trace[maker].name in _GATHER and \
        all(_size(window.meta[j]) == 1 for j in window.trace[maker].inputs)


def _size(meta) -> int:
    size = 1
    for length in meta.shape:
        size *= length
    return size


def _without_gradient(watch, window, i: int, loss_at: int, graded: set[int], held: dict) -> None:
    """A term whose value depends on what an optimizer trains and whose gradient does not."""
    meta = window.meta[i]
    if meta.wants_grad or _size(meta) != 1 or meta.maker < 0:
        return
    made_by = ancestors(window, i)
    read = {j for step in made_by for j in window.trace[step].inputs}
    if read & graded:
        return  # (metric - loss).detach() + loss: another number is shown, the gradient is meant to be the loss's
    leaves = trainable_leaves(window, i, made_by)
    trained = [leaf for key, leaf in leaves.items() if key in held or not held]
    cut = lost_at(window, made_by) if trained else None
    if not trained:
        cut = _fresh_after_exit(window, made_by, held)
    if cut is None:
        return
    maker = window.trace[meta.maker]
    watch.observe("gradless_term", {"value": float(meta.tensor.detach()), "cut": cut, "module": maker.module, "operation": maker.name,
                                    "optimizers": _steppers(watch, trained, held)}, maker.place or "?")


def _trains_nothing(watch, window, graded: set[int], held: dict) -> None:
    """A term whose graph ends in trainable tensors of a called model and in none that an optimizer holds, beside terms that do train."""
    outside = [leaf for leaf in watch.gradients.reached if id(leaf) not in held]
    if not outside:
        return
    ends = {i: gradients.leaves_of(window.meta[i].tensor)[0] for i in graded}
    if not any(id(leaf) in held for leaves in ends.values() for leaf in leaves):
        return
    for i, leaves in ends.items():
        called = any(window.trace[step].module for step in ancestors(window, i))  # a penalty on weights alone is not a term of a model's output
        if leaves and called and not any(id(leaf) in held for leaf in leaves):
            maker = window.trace[window.meta[i].maker]
            watch.observe("term_outside_optimizers", {"names": [watch.name(leaf) for leaf in leaves[:_NAMED]], "operation": maker.name,
                                                      "value": float(window.meta[i].tensor.detach())}, maker.place or "?")


def _steppers(watch, leaves, held) -> list[str]:
    return sorted({facts.optimizer_name(watch, held[id(leaf)]) for leaf in leaves if id(leaf) in held})


def _fresh_after_exit(window, made_by: set[int], held: dict) -> dict | None:
    """A tensor filled with numbers in this step, after numbers that depend on a trained leaf had left torch: the cut is where they left."""
    makes = [at for at in made_by if window.trace[at].name in _NEW
             and not any(window.meta[j].wants_grad for j in window.trace[at].inputs)]
    if not makes:
        return None
    exits = [step for step in window.trace[:max(made_by)] if not step.outputs and step.name in EXITS and step.inputs]
    for step in exits[:_LOOKED_AT]:
        leaves = trainable_leaves(window, step.inputs[0], before := ancestors(window, step.inputs[0]))
        if any(key in held or not held for key in leaves):
            found = lost_at(window, before)
            return found or {"operation": step.name.strip("_"), "place": step.place, "module": step.module, "grad_enabled": True}
    return None


def _number(watch, window, value: float, where: str | None, held: dict) -> None:
    """A Python number in the sum, and the last number taken out of torch that is proportional to it or equal."""
    for step in reversed(window.trace):
        if step.outputs or step.name not in ("item", "__float__") or not step.inputs or not isinstance(step.result, float):
            continue
        leaves = trainable_leaves(window, step.inputs[0], ancestors(window, step.inputs[0]))
        trained = [leaf for key, leaf in leaves.items() if key in held or not held]
        if trained:
            watch.observe("number_term", {"value": value, "left": float(step.result), "at": step.place, "operation": step.name.strip("_"),
                                          "optimizers": _steppers(watch, trained, held)}, where or "?")


def _left_out(watch, window, at: int, terms: list[int], made_by: set[int], held: dict) -> None:
    """Scalars with a graph that nothing else was computed from and that the loss does not depend on."""
    used = {j for step in window.trace if step.outputs and any(window.meta[o].wants_grad for o in step.outputs) for j in step.inputs}
    inside = {j for step in made_by for o in (window.trace[step].outputs,) for j in o} | set(terms) | {at}
    reached = None
    for i, meta in enumerate(window.meta):
        if not meta.wants_grad or meta.leaf or meta.maker < 0 or _size(meta) != 1 or i in inside or i in used or window.trace[meta.maker].module:
            continue
        leaves = [leaf for leaf in gradients.leaves_of(meta.tensor)[0] if id(leaf) in held] if held else []
        reached = {id(leaf) for leaf in watch.gradients.reached} if reached is None else reached
        lost = [leaf for leaf in leaves if id(leaf) not in reached]
        if lost:
            parts = split(window, i)[0]
            whole = bool(set(parts) & ({at} | set(terms)))
            watch.observe("scalar_left_out", {"names": [watch.name(leaf) for leaf in lost[:40]], "whole": whole, "terms": len(parts),
                                              "operation": window.trace[meta.maker].name, "value": float(meta.tensor.detach())},
                          window.trace[meta.maker].place or "?")
