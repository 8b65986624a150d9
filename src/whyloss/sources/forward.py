"""Module calls of a watched training: where a step begins, what its outermost modules take and return."""

import sys
import weakref

import torch
from torch.nn.modules.loss import _Loss

from whyloss.sources import facts, functions, place
from whyloss.sources.clock import worked
from whyloss.sources.evaluation import BATCHES
from whyloss.sources.program import TAPES, Event
from whyloss.sources.recorder import needed_for, references
from whyloss.sources.tape import Slot, Tape
from whyloss.sources.window import Window

RECORD_SECONDS = 30.0   # after so long, only sampled steps are recorded
DEEP, FRAMES = 16, 6    # modules inside of modules; what a watched call of one adds to the depth, with a reserve
TRACED = 24             # the first so many steps are traced operation by operation
ROOM = {"record": (2.0, 0.08), "trace": (3.0, 0.12)}  # our own work may take so many seconds and such a share of the run; then it waits


class Forward:
    """Part of a Watch: calls of modules, custom functions and compiled functions, and the windows they open."""

    def __init__(self, watch):
        self.watch = watch
        self.recorder = watch.recorder
        self.recent: list[Window] = []   # the last finished windows
        self.traced = TRACED

    def module_call(self, module, original, args, kwargs):
        recorder = self.recorder
        if recorder.paused:
            return original(module, *args, **kwargs)
        recorder.settle()
        if recorder.depth:
            return self._inner_call(module, original, args, kwargs)
        if next(module.parameters(), None) is None and (isinstance(module, _Loss) or next(module.buffers(), None) is None):
            return original(module, *args, **kwargs)  # a loss, with class weights or without, or an activation: its operations are recorded
        return self._root_call(module, original, args, kwargs)

    def _unheard(self, module, original, args, kwargs):
        """A call with tensors that hold no numbers: a framework asks for shapes before it trains."""
        self.recorder.paused += 1
        try:
            return original(module, *args, **kwargs)
        finally:
            self.recorder.paused -= 1

    def _root_call(self, module, original, args, kwargs):
        recorder, bare, compiled = self.recorder, *unwrapped(module)
        stored = where = window = None
        shapes_only = False
        with self.watch._guard():
            shapes_only = any(t.is_meta for t in facts.tensors_in((args, kwargs)))
        if shapes_only:
            return self._unheard(module, original, args, kwargs)
        with self.watch._guard():
            where = place.here(3)
            evaluation = not torch.is_grad_enabled()
            if evaluation:
                last, count, _ = self.watch.root_free.get(id(bare), (-1, 0, None))
                self.watch.root_free[id(bare)] = (self.watch.window_count, count + (last != self.watch.window_count), weakref.ref(bare))
            else:
                self._fed_without_gradient(args, kwargs, where)
            self.watch.scoring.call_begins(bare, args, kwargs, evaluation, where)
            self.watch.shards.look_at(bare, self.watch.program.names)
            self.watch.ranks.enters(module, args, kwargs, where)
            window = self._window_for(evaluation, bare)
            if window is not None:
                self.watch.root_names.setdefault(id(bare), {id(m): n for n, m in bare.named_modules()})
                if not evaluation or not window.evaluation:
                    self.watch.ranks.before_copy(bare)
                    self.watch.program.know_module(bare)
                if window.evaluation:
                    self.watch.evaluation.batch_begins(window, bare, args, kwargs)
                    window.traced = self.watch.evaluation.batches <= BATCHES or not self.over("trace")
                elif window.taped:
                    stored = recorder.root_call(window, bare, id(bare), args, kwargs)
        recorder.depth, recorder.path = 1, [("", bare)]
        try:
            if compiled:
                recorder.remove()
            result = original(module, *args, **kwargs)
        finally:
            recorder.depth, recorder.path = 0, []
            self.watch.ranks.leaves()
            if compiled and recorder.window is not None and self.watch.awake:
                recorder.install()
        if self.watch.awake:
            with self.watch._guard():
                self.watch.scoring.call_over(result)
        if window is not None and self.watch.awake:
            with self.watch._guard():
                if compiled:
                    self.watch.observe("opaque", type(bare).__name__)
                if stored is not None and window.taped:
                    recorder.root_done(window, bare, id(bare), stored, result, where)
                self.watch.layers.root_called(window, bare, args, kwargs, result, where)
                if window.evaluation:
                    self.watch.evaluation.batch_output(window, bare, result, where)
        return result

    def _inner_call(self, module, original, args, kwargs):
        recorder, window = self.recorder, self.recorder.window
        root = recorder.path[0][1]
        name = self.watch.root_names.get(id(root), {}).get(id(module))
        if name is None:
            name = f"{recorder.path[-1][0]}<{type(module).__name__}>"
        if self.watch.ranks.world > 1 and self.watch.awake:
            with self.watch._guard():
                self.watch.ranks.inner(name, module, args, kwargs)
        recorder.path.append((name, module))
        deep = len(recorder.path) % DEEP == 0
        if deep:  # a model that Python's limit lets through must get through with our frames in between, and one that recurs for ever must not
            sys.setrecursionlimit(sys.getrecursionlimit() + FRAMES * DEEP)
        try:
            result = original(module, *args, **kwargs)
        finally:
            recorder.path.pop()
            if deep:
                sys.setrecursionlimit(sys.getrecursionlimit() - FRAMES * DEEP)
        if window is not None and window.traced and not window.evaluation and self.watch.awake:
            with self.watch._guard():
                self.watch.layers.module_called(window, name, module, args, result)
        return result

    def _fed_without_gradient(self, args, kwargs, where) -> None:
        """A gradient-free call whose output this call takes in was part of the forward pass, not an evaluation."""
        window, output = self.recorder.window, self.watch.evaluation.output
        if window is None or not window.evaluation or not any(t is output for t in facts.tensors_in((args, kwargs))):
            return
        self.watch.observe("cut", {"operation": "no_grad", "module": "", "grad_enabled": False, "enters": where,
                             "shape": list(output.shape), "root": ""}, self.watch.evaluation.place or "?")
        self.watch.evaluation._fresh()

    def _window_for(self, evaluation: bool, module) -> Window | None:
        """The window this root call belongs to, opened if none is open."""
        recorder = self.recorder
        window = recorder.window
        if window is not None and window.evaluation and not evaluation:
            self.watch.evaluation.phase_over()
            window = recorder.window = None
        if window is not None and (window.sparse or evaluation and not window.evaluation and not window.live and not window.roots):
            self.retire(window)
            window = recorder.window = None
        if window is None:
            window = self.open(evaluation, new=not evaluation and id(module) not in self.watch.program.modules)
        return window

    def over(self, what: str) -> bool:
        """Whether watching has cost as much as it may for now."""
        if self.watch.began is None:
            return False
        fixed, share = ROOM[what]
        return self.recorder.spent > fixed + share * (worked() - self.watch.began)

    def open(self, evaluation: bool = False, new: bool = False) -> Window | None:
        """new: it begins with a model that was not seen before, and may be the first of another training."""
        at = self.watch.window_count
        late = self.watch.began is not None and worked() - self.watch.began > RECORD_SECONDS or self.over("record")
        traced = new or at < self.traced or at >= self.watch.next_trace and not self.over("trace")
        if evaluation:
            window = Window(taped=False, traced=True, evaluation=True, step=self.watch.clock)
        elif late and not traced and at >= TAPES:
            self.recorder.window = None
            self.recorder.remove()
            return None
        else:
            window = Window(taped=True, traced=traced, evaluation=False, step=self.watch.clock)
            window.earlier = list(self.recent)
        self.recorder.window = window
        self.recorder.install()
        return window

    def retire(self, window: Window | None) -> None:
        """Keep what a later step may go on from: a tensor made before one backward() may be used in the next."""
        if window is None or window.evaluation or not window.taped:
            return
        window.retire()
        self.recent = [*self.recent[-3:], window]

    def is_target(self, module) -> bool:
        """Whether optimizers are known and none of them trains this module."""
        held = {id(p) for o in self.watch.optimizers.values() for group in o.param_groups for p in group["params"]}
        return bool(held) and not any(id(p) in held for p in module.parameters())

    def updated_by_hand(self, window: Window, node) -> None:
        """A parameter or its gradient is changed in place: the update of a loop without an optimizer, kept to be run again."""
        if not self.watch.window_count or self.watch.window_count > TAPES:
            return
        nodes, missing = needed_for(window.nodes, {r.index for r in node.inputs if isinstance(r, Slot)}, window.storages)
        event = self.watch.program.events[-1] if self.watch.program.events else None
        if event is None or event.kind != "update":
            tape = Tape([], Slot(-1), 0.0, node.place, {}, window.rng, window.step)
            event = Event("update", node.place, self.watch.window_count, 0, {"tape": tape})
            self.watch.program.log(event)
        tape = event.data["tape"]
        known = {id(n) for n in tape.nodes}
        tape.nodes += [n for n in [*nodes, node] if id(n) not in known]
        tape.constants.update({k: window.constants[k] for n in [*nodes, node] for k in references((n.args, n.kwargs)) if k in window.constants})
        tape.whole &= not missing

    def function_apply(self, cls, original, args, kwargs):
        """A custom autograd function: one node on the tape."""
        recorder, window = self.recorder, self.recorder.window
        if window is None or recorder.paused or recorder.depth and not window.traced:
            return original(cls, *args, **kwargs)
        if cls.__module__.startswith("torch.distributed"):
            reason = f"{cls.__name__} needs every rank: one alone cannot run the step again"
            window.drop(reason)
            self.watch.program.problem = self.watch.program.problem or (reason if recorder.depth else None)
            return original(cls, *args, **kwargs)
        with self.watch.quiet():
            stored = None
            if not recorder.depth and window.taped:
                stored = recorder.root_call(window, None, 0, args, kwargs)
            inputs = [window.seen(t) for t in facts.tensors_in((args, kwargs))] if window.traced else []
            result = original(cls, *args, **kwargs)
            functions.seen(self.watch, window, cls, args, result, place.here(3))
            if stored is not None and window.taped:
                recorder._tape(window, cls.apply, cls.__name__, stored, result, place.here(3))
            if window.traced:
                recorder._trace(window, f"{cls.__name__}.apply", place.here(3), inputs, [], args, kwargs, result)
        return result

    def compiled_call(self, function, compiled, args, kwargs):
        """A torch.compile'd function: opaque while it runs, replayed through the plain function."""
        recorder, window = self.recorder, self.recorder.window
        recorder.remove()
        try:
            result = compiled(*args, **kwargs)
        finally:
            if window is not None and recorder.window is not None and self.watch.awake:
                recorder.install()
        return result


def unwrapped(module) -> tuple[torch.nn.Module, bool]:
    """(the module itself, whether it runs compiled), looking through DDP, DataParallel and torch.compile wrappers."""
    compiled = False
    for _ in range(4):
        kind = type(module).__name__
        if kind == "OptimizedModule":
            module, compiled = module._orig_mod, True
        elif kind in ("DistributedDataParallel", "DataParallel", "FullyShardedDataParallel"):
            module = module.module
        else:
            break
    return module, compiled or getattr(module, "_compiled_call_impl", None) is not None
