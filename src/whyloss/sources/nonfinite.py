"""The first non-finite value: which operation made it, at which line. Found by replaying the step on a copy, from the sink back.

Healthy steps contain hidden NaN and Inf that a mask removes, so the first non-finite operation in time proves nothing.
Every operation of the replay (forward and backward) whose output is not finite becomes an event linked to the events of
its inputs; from the loss, or the first bad gradient, the links lead back to the operation that made it.
"""

import copy
import math
import sys

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from whyloss.sources import meters, place
from whyloss.sources.shards import local
from whyloss.sources.structure import tensors_in
from whyloss.sources.tape import Bindings

_LITERALS = {"fill", "fill_", "full", "full_like", "masked_fill", "masked_fill_", "scalar_tensor", "empty", "new_full", "copy_", "_to_copy"}
FRAMES = 40    # of the stack, searched for the module that runs
KINDS = {
    "log-of-zero": {"log", "log2", "log10", "log1p", "xlogy", "logit", "log_"},
    "division-by-zero": {"div", "reciprocal", "true_divide", "div_", "remainder", "fmod"},
    "root-at-zero": {"sqrt", "rsqrt", "linalg_vector_norm", "norm", "sqrt_", "_euclidean_dist", "cdist", "_cdist_forward", "pow"},
    "exp-overflow": {"exp", "expm1", "exp2", "exp_", "cosh", "sinh"},
}


def found_in_forward(watch, tape, value: float, where) -> dict:
    """The loss itself is not finite, before backward; the weights are still those of the forward pass."""
    fact = _fact(watch, "forward", where, value)
    fact.update(_search(watch, tape, backward=False))
    window = watch.recorder.window
    if fact["kind"] == "input" and window is not None and window.traced:
        fact.update(_made_from_constants(window))
    return fact


def found_in_backward(watch, tape, leaves, where) -> dict:
    """The loss was finite and a gradient is not."""
    fact = _fact(watch, "backward", where, tape.value if tape else math.nan)
    bad = [watch.name(p) for p in leaves if p.grad is not None and meters.grad_state(p.grad) in ("nan", "inf")]
    fact["parameters"] = bad[:8]
    fact.update(_search(watch, tape, backward=True))
    return fact


def found_in_update(watch, optimizer, parameter, where) -> dict:
    """Loss and gradients were finite, a weight is not: the optimizer made it."""
    group = next(g for g in optimizer.param_groups if any(p is parameter for p in g["params"]))
    eps = group.get("eps")
    lost = eps is not None and float(torch.tensor(float(eps)).to(parameter.dtype)) == 0.0
    state = optimizer.state.get(parameter, {})
    second = next((state[k] for k in ("exp_avg_sq", "square_avg", "sum") if k in state), None)
    zeros = float((second == 0).float().mean()) if isinstance(second, torch.Tensor) else None
    fact = _fact(watch, "update", where, math.nan)
    fact.update({"operation": "step", "place": where, "module": watch.name(parameter), "kind": "update", "root": "operation",
                 "dtype": str(parameter.dtype).replace("torch.", ""), "eps": eps, "eps_underflows": lost,
                 "second_moment_zero_share": zeros, "optimizer": type(optimizer).__name__, "lr": float(group["lr"]),
                 "gradient_norm": watch.gradients.norm_after_backward})
    return fact


def _fact(watch, phase: str, where, value: float) -> dict:
    return {"phase": phase, "step": watch.clock, "backward_at": where, "loss": value, "kind": "unknown", "root": "unknown",
            "operation": None, "place": None, "module": "", "window": watch.window_count}


def current_bindings(watch) -> Bindings:
    """Copies of the models as they are now."""
    memo: dict = {}
    program = watch.program
    for key in program.modules:
        program._own_tensors(program.originals[key])
    modules = {key: copy.deepcopy(program.originals[key], memo) for key in program.modules}
    for twin in modules.values():
        for part in twin.modules():
            part.__dict__["_whyloss_copy"] = True
    leaves = {}
    for key in program.leaves:
        original = program.originals[key]
        twin = memo.get(key)
        leaves[key] = twin if twin is not None else original.detach().clone().requires_grad_(original.requires_grad)
        leaves[key].grad = None
    return Bindings(modules, leaves)


def _made_from_constants(window) -> dict:
    """What the batch alone went through (a logarithm of the targets) is a constant on the tape; the trace knows its maker."""
    for step in window.trace:
        made = [window.meta[at].tensor for at in step.outputs]
        given = [window.meta[at].tensor for at in step.inputs if at not in step.outputs]
        bad = [t for t in made if t.is_floating_point() and not bool(torch.isfinite(t.detach()).all())]
        if not bad or not given or step.name in _LITERALS or any(not bool(torch.isfinite(t.detach().float()).all()) for t in given):
            continue
        values = given[0].detach().float()
        return {"kind": next((k for k, ops in KINDS.items() if step.name.strip("_") in ops), "overflow"), "root": "operation",
                "operation": step.name, "place": step.place, "module": step.module, "input_min": float(values.min()),
                "input_max": float(values.max()), "input_zeros": int((values == 0).sum()), "entries": values.numel(),
                "dtype": str(bad[0].dtype).replace("torch.", "")}
    return {}


REPLAYED = 8   # earlier batches tried where the failing step itself was not recorded


def _search(watch, tape, *, backward: bool) -> dict:
    if tape is not None and tape.whole and not watch.program.problem:
        return _replayed(watch, tape, backward=backward)
    reason = (tape.reason if tape else None) or watch.program.problem or "the step was not recorded"
    if watch.program.problem:
        return {"reason": reason}
    kept = list(watch.program.whole_tapes().values())
    for earlier in kept[::-1][:REPLAYED]:  # the weights are those of the failing step: often another batch fails with them too
        found = _replayed(watch, earlier, backward=backward)
        if found.get("root") == "operation":
            return {**found, "reason": f"{reason}; found with an earlier batch and the weights of this step"}
    watch.program.failing = None
    return {"reason": reason}


def _replayed(watch, tape, *, backward: bool) -> dict:
    state, inside = torch.get_rng_state(), watch.inside_backward
    watch.inside_backward = True  # the replay's own backward is not the loop's
    try:
        bindings = current_bindings(watch)
        modules, leaves = copy.deepcopy((bindings.modules, bindings.leaves), {})
        watch.program.failing = (tape, modules, leaves)
        torch.set_rng_state(tape.rng)
        return find(tape, bindings, backward=backward)
    except Exception as error:
        return {"reason": f"replaying the step raised {type(error).__name__}: {error}"}
    finally:
        watch.inside_backward = inside
        torch.set_rng_state(state)


def find(tape, bindings: Bindings, *, backward: bool) -> dict:
    """Replay one step and say which operation made the first non-finite value that reaches the loss or a gradient."""
    finder = Finder(bindings)
    with finder:
        loss = tape.replay(bindings, swap=finder.at_node)
        forward_bad = not bool(torch.isfinite(loss.detach()).all())
        if backward and not forward_bad:
            finder.phase = "backward"
            loss.sum().backward()
    sinks = [loss.detach()] if forward_bad else [leaf.grad for leaf in bindings.leaves.values()
                                                 if leaf.grad is not None and not bool(torch.isfinite(local(leaf.grad)).all())]
    if forward_bad:
        sinks = [loss]
    return finder.explain(sinks)


class Finder(TorchDispatchMode):
    """Dispatch mode that links non-finite results to their origins."""

    def __init__(self, bindings: Bindings):
        super().__init__()
        self.names = {}
        for module in bindings.modules.values():
            self.names.update({id(m): n for n, m in module.named_modules()})
        self.events: dict[int, dict] = {}
        self.storages: dict[int, dict] = {}
        self.keep: list = []
        self.node_place = None
        self.base = place.here(2)  # where the replay is started from
        self.phase = "forward"
        self.frames: dict[int, dict] = {}

    def at_node(self, node, args, kwargs):
        self.node_place = node.place
        return args, kwargs

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        inputs = [t for t in tensors_in((args, kwargs)) if t.is_floating_point()]
        summary = self._summary(func, args)
        result = func(*args, **kwargs)
        name = func.overloadpacket.__name__ if hasattr(func, "overloadpacket") else str(func)
        where = place.here(2)
        if where is None or where == self.base:  # no line inside a forward: the line the operation was recorded at
            where = self.node_place or where
        if self.phase == "forward":
            number = torch._C._autograd._get_sequence_nr()
            summary["layer"] = self._layer()
            self.frames.setdefault(number - 1, {"place": where, "operation": name, "layer": summary["layer"]})  # detach() and the like make no node
        else:
            node = torch._C._current_autograd_node()
            known = self._frame(node._sequence_nr()) if node is not None else None
            where = known["place"] if known else where
            summary["forward_operation"] = known["operation"] if known else None
            summary["layer"] = known["layer"] if known else ""
            summary["node"] = type(node).__name__ if node is not None else None
        for tensor in tensors_in(result):
            if not tensor.is_floating_point() or not tensor.numel():
                continue
            if math.isfinite(float(tensor.detach().sum())) or bool(torch.isfinite(tensor.detach()).all()):
                continue
            bad = [t for t in inputs if not bool(torch.isfinite(t.detach()).all())] if not _inplace(name) else \
                  [t for t in inputs if self._event(t) is not None]
            parents = [self._event(t) for t in bad]
            event = {"operation": name, "place": where, "phase": self.phase, "parents": [p for p in parents if p is not None],
                     "outside": any(p is None for p in parents), **summary}
            self.events[id(tensor)] = event
            self.storages[_address(tensor)] = event
            self.keep.append(tensor)
        return result

    def _layer(self) -> str:
        """The name of the module whose code is running; empty outside of all."""
        frame = sys._getframe(2)
        for _ in range(FRAMES):
            if frame is None:
                break
            name = self.names.get(id(frame.f_locals.get("self")))
            if name is not None:
                return name
            frame = frame.f_back
        return ""

    def _frame(self, number: int) -> dict | None:
        for at in range(number, number - 4, -1):
            if at in self.frames:
                return self.frames[at]
        return None

    def _event(self, tensor) -> dict | None:
        return self.events.get(id(tensor)) or self.storages.get(_address(tensor))

    def _summary(self, func, args) -> dict:
        first = next((t for t in tensors_in(args) if t.is_floating_point()), None)
        tensors = [t for t in tensors_in(args) if t.is_floating_point()]
        if first is None or not first.numel():
            return {}
        clean = torch.nan_to_num(first.detach().float(), nan=0.0)
        row = {"input_min": float(clean.min()), "input_max": float(clean.max()), "input_zeros": int((clean == 0).sum()),
               "entries": first.numel(), "dtype": str(first.dtype).replace("torch.", "")}
        if len(tensors) > 1 and tensors[1].numel():
            row["second_zeros"] = int((tensors[1].detach() == 0).sum())
        return row

    def explain(self, sinks) -> dict:
        """Walk from the sinks back to the roots; the earliest root is the answer."""
        roots, stack, seen = [], [self._event(s) for s in sinks], set()
        while stack:
            event = stack.pop()
            if event is None or id(event) in seen:
                continue
            seen.add(id(event))
            if event["parents"]:
                stack.extend(event["parents"])
            if event["outside"] or not event["parents"]:
                roots.append(event)
        if not roots:
            return {"reason": "the non-finite value did not appear when the step was replayed"}
        literal = [r for r in roots if r["operation"] in _LITERALS and not r["outside"]]
        root = next((r for r in roots if r not in literal), roots[0])
        operation = root["operation"]
        named = root.get("forward_operation") if root["phase"] == "backward" else operation
        kind = next((k for k, ops in KINDS.items() if named in ops), "overflow")
        if root["outside"]:
            kind = "input"
        hidden = [e for e in self.events.values() if e["phase"] == "forward" and id(e) not in seen
                  and e["operation"] not in ("detach", "abs", "alias")]
        return {"kind": kind, "root": "outside" if root["outside"] else "operation", "operation": named or operation,
                "backward_operation": operation if root["phase"] == "backward" else None, "place": root["place"],
                "layer": root.get("layer", ""), "root_phase": root["phase"], "input_min": root.get("input_min"), "input_max": root.get("input_max"),
                "input_zeros": root.get("input_zeros"), "entries": root.get("entries"), "second_zeros": root.get("second_zeros"),
                "dtype": root.get("dtype"), "hidden_in_forward": [{"operation": e["operation"], "place": e["place"]} for e in hidden[:3]]}


def _inplace(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__")


def _address(tensor) -> int:
    try:
        return tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):
        return -id(tensor)
