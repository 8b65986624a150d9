"""The step under way, recorded so that it can be run again at once if its loss or a gradient is not finite.

Only where that was asked for. Nothing is copied: batches are held until the step is over and known by version, the model is
copied when something went wrong, not before. Inside the model nothing is recorded; outside of it each operation is, at some
50 microseconds.
"""

import contextlib
import weakref
from time import perf_counter

import torch

from whyloss.sources import place
from whyloss.sources.monitor import ears
from whyloss.sources.monitor.sharding import rank_and_world
from whyloss.sources.monitor.taps import closed_because, functions_compiled, unwrapped
from whyloss.sources.recorder import Recorder, finish, joined, references
from whyloss.sources.shards import local
from whyloss.sources.tape import Leaf, Node, Tape, autocast_state
from whyloss.sources.window import Window

CALLS = 4      # of the model in one step; a loop that never calls backward() begins anew after so many
STEPS = 4      # backward passes held until the optimizer steps
_in_backward = torch._C._current_graph_task_id


class ByReference(Recorder):
    """A recorder that holds the batch itself; whether it was overwritten since is seen by its version."""

    worked = staticmethod(perf_counter)  # at every step the processor's own clock would cost more than what it measures

    def __init__(self) -> None:
        super().__init__()
        self.versions: dict[int, int] = {}

    def _refer(self, window: Window, args, kwargs):
        with torch._C.DisableTorchFunction():  # another mode, `whyloss run`'s say, must not take our detach() for the user's
            return super()._refer(window, args, kwargs)

    def _constant(self, window: Window, tensor: torch.Tensor) -> int:
        key = window.constant_ids.get(id(tensor))
        if key is None:
            key = window.add_constant(tensor, tensor.detach())
            if not tensor.is_inference():
                self.versions[key] = tensor._version
            if tensor.requires_grad:
                window.foreign.add(key)
        return key

    def root_done(self, window: Window, module, key: int, stored, result, where) -> None:
        node = Node(None, type(module).__name__, *stored, [], where, True, autocast_state(), module=key)
        node.inputs = references(stored)
        node.outputs = window.make_slots(result)
        window.nodes.append(node)

    def unchanged(self, key: int, tensor: torch.Tensor) -> bool:
        return key not in self.versions or tensor._version == self.versions[key]


class Ear:
    """A hook that a copy of the model does not take along."""

    def __init__(self, hear):
        self.hear = hear

    def __call__(self, *args):
        return None if torch.compiler.is_compiling() else self.hear(*args)

    def __deepcopy__(self, memo):
        return silent

    def __reduce__(self):
        return "silent"


def silent(*args, **kwargs):
    """What stands for an ear in a copy."""


class Rolling:
    """Records each step of a monitor's model while it is `on`."""

    def __init__(self, monitor):
        self.monitor = weakref.proxy(monitor)
        self.model, self.closed_because = unwrapped(monitor.model)
        self.closed_because = self.closed_because or closed_because(self.model) or _in_parts(self.model) or \
            ("this process compiles functions, one of which may call it" if functions_compiled() else "")
        self.recorder = ByReference()
        self.held: list[tuple] = []      # (window, tensors that backward was called on) since the last step
        self.stored = None
        self.on = False
        self.seconds = 0.0
        self.handles: list = []

    def put_on(self) -> None:
        if not self.on and not self.closed_because:
            self.on = True
            # first: what a hook of the user's makes of the arguments, the copy's own hook will make again
            self.handles = [self.model.register_forward_pre_hook(Ear(self._begins), with_kwargs=True, prepend=True),
                            self.model.register_forward_hook(Ear(self._ends), always_call=True)]

    def take_off(self) -> None:
        self.on = False
        for handle in self.handles:
            handle.remove()
        self.handles = []
        self._drop()
        self.held = []

    def _drop(self) -> None:
        self.stored = self.recorder.window = None
        self.recorder.remove()
        self.recorder.depth = 0

    # ------------------------------------------------------------------ the model
    def _begins(self, model, args, kwargs) -> None:
        recorder = self.recorder
        if recorder.depth or not torch.is_grad_enabled() or _in_backward() != -1 or torch._C._functorch.maybe_current_level() is not None:
            return
        began = perf_counter()
        try:
            recorder.settle()
            window = recorder.window
            if window is None or len(window.roots) >= CALLS:
                window = recorder.window = Window(taped=True, traced=False, evaluation=False, step=0)
                if not self.held:
                    recorder.versions = {}
            window.roots.append(id(model))
            self.stored = recorder.root_call(window, model, id(model), args, kwargs)
            recorder.remove()
            recorder.depth = 1
        except Exception as error:
            self._drop()
            self.monitor._fail(error)
        self.seconds += perf_counter() - began

    def _ends(self, model, args, result) -> None:
        recorder, stored = self.recorder, self.stored
        if stored is None or not recorder.depth:
            return
        self.stored, recorder.depth, began = None, 0, perf_counter()
        try:
            if result is None or not torch.is_grad_enabled():  # it raised
                self._drop()
                return
            recorder.root_done(recorder.window, model, id(model), stored, result, place.here(2))
            recorder.install()
        except Exception as error:
            self._drop()
            self.monitor._fail(error)
        self.seconds += perf_counter() - began

    # ------------------------------------------------------------------ the loop
    def backward(self, tensors) -> None:
        """backward() is about to run on these: the step is complete."""
        recorder, window = self.recorder, self.recorder.window
        recorder.window = None
        recorder.remove()
        if window is not None and not recorder.depth:
            self.held = [*self.held[-STEPS + 1:], (window, (tensors,) if isinstance(tensors, torch.Tensor) else tuple(tensors))]

    def stepped(self) -> None:
        """An optimizer stepped: nothing of the step is needed any more."""
        self.held = []
        self.recorder.settle()

    # ------------------------------------------------------------------ what went wrong
    def bad_gradient(self, optimizer) -> list[torch.Tensor]:
        """The parameters whose gradient the optimizer is about to use, and which is not finite."""
        if getattr(optimizer, "found_inf", None) is not None:  # a gradient scaler's optimizer skips it by itself
            return []
        held = [p for group in optimizer.param_groups for p in group["params"]
                if p.grad is not None and p.grad.layout is torch.strided and p.grad.numel()]
        if not held or held[0].is_cuda and torch.cuda.is_current_stream_capturing():
            return []
        by_device: dict[torch.device, list] = {}
        for p in held:
            by_device.setdefault(p.grad.device, []).append(local(p.grad))
        with torch.no_grad(), torch._C.DisableTorchFunction():
            if all(bool(torch.isfinite(torch.stack([n.float() for n in torch._foreach_norm(grads)]).sum())) for grads in by_device.values()):
                return []
            return [p for p in held if not bool(torch.isfinite(local(p.grad)).all())]

    def tapes(self, value: float) -> list[Tape]:
        """Of the backward passes since the last step, the latest first."""
        found = []
        for window, losses in reversed(self.held):
            slot = joined(window, list(losses), [None] * len(losses)) if len(losses) > 1 else None
            tape = finish(window, losses[0], place.here(2), value, slot)
            changed = [key for key, tensor in tape.constants.items() if not self.recorder.unchanged(key, tensor)]
            if changed and tape.whole:
                tape.whole, tape.reason = False, "a tensor of the batch was overwritten before backward()"
            tape.constants = {key: tensor.clone() for key, tensor in tape.constants.items()}
            for node in tape.nodes:
                if node.module is not None:
                    node.modes = tuple(part.training for part in self.model.modules())
            plain = ears.unscaled(losses[0])
            if plain is not losses[0] and float(plain) and float(losses[0].detach()) - float(losses[0].detach()) == 0:
                tape.scale = float(losses[0].detach()) / float(plain)
            tape.value = float(plain.detach().sum()) if len(losses) == 1 else value
            found.append(tape)
        return found

    def watch(self, tape: Tape, optimizers) -> object:
        """A watch that knows this one step, with the model as it is now."""
        from whyloss.sources.watch import Watch

        watch, step = Watch(), self.monitor.step
        program = watch.program
        watch.clock = watch.program.first_step = tape.step = step
        tensors = {id(t): t for window, _losses in self.held for t in window.keep if isinstance(t, torch.Tensor)}
        if any(node.module is not None for node in tape.nodes):
            program.know_module(self.model)
        for node in tape.nodes:
            for ref in node.inputs:
                if isinstance(ref, Leaf) and ref.key not in program.leaves and ref.key not in tape.inputs and ref.key in tensors:
                    program.know_leaf(tensors[ref.key])
        for optimizer in optimizers:
            program.know_optimizer(optimizer)
            watch.optimizers[id(optimizer)] = optimizer
        program.names = dict(self.monitor.sampler.names)
        program.keep(0, tape)
        return watch

    def explain(self, value: float, *, parameters=(), optimizers=()) -> tuple[dict, object]:
        """Run the step again on copies. parameters: those with a bad gradient; none where the loss itself is not finite.

        -> what was found, as nonfinite.py says it; the watch that knows the step, None where there is none
        """
        from whyloss.sources import nonfinite
        from whyloss.sources.attach import _silence
        from whyloss.sources.probe import as_found

        best: tuple[dict, object] = {}, None
        tapes = self.tapes(value)
        if not self.on or not tapes:
            return {"reason": self.closed_because or "the model was not called where it could be heard"}, None
        for tape in tapes if parameters else tapes[:1]:
            with contextlib.ExitStack() as stack:
                stack.enter_context(as_found())
                stack.enter_context(_silence())
                watch = self.watch(tape, optimizers)
                found = nonfinite.found_in_backward(watch, tape, parameters, tape.place) if parameters else \
                    nonfinite.found_in_forward(watch, tape, value, tape.place)
            watch.first_non_finite = found
            if best[1] is None or found.get("operation"):
                best = found, watch
            if found.get("operation"):
                break
        return best


def _in_parts(model) -> str:
    """Why a copy could not be run alone; empty where it can."""
    if any(hasattr(p, "device_mesh") for p in model.parameters()):
        return "its parameters are sharded over ranks"
    # a layer that synchronises would wait for the other ranks, which do not come
    return "one rank alone cannot run the step of several again" if rank_and_world()[1] > 1 else ""


def in_words(found: dict, watch) -> str:
    """For a message. Empty where the replay found nothing."""
    if not found.get("operation"):
        return ""
    operation = found["operation"]
    said = f"first in {operation}" + (" in the backward pass" if found.get("root_phase") == "backward" else "")
    said += f" at {found['place']}" if found.get("place") else ""
    said += f" of {found['layer']}" if found.get("layer") else ""
    if found.get("root") == "outside":
        bad = next((watch.program.names.get(key, "") for key, leaf in watch.program.leaves.items() if not bool(torch.isfinite(leaf).all())), None)
        return said + (", what it was given was not finite already: a tensor of the batch" if bad is None else
                       f", what it was given was not finite already: the weight {bad}, which an earlier step made")
    if found.get("input_min") is None:
        return said
    zeros = f", with {found['input_zeros']} zeros" if found.get("input_zeros") else ""
    return f"{said}, its input was between {found['input_min']:.3g} and {found['input_max']:.3g}{zeros}"
