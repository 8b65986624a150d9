"""Records one training step: a torch-function mode that writes the tape and, in traced steps, what each operation was.

The mode lies at the bottom of torch's mode stack, so a user's own modes nest and unnest above it undisturbed, and it is
taken off while a compiled model runs. It returns every result unchanged.
"""

import functools
from types import FunctionType

import torch
from torch.overrides import TorchFunctionMode, _pop_mode, _push_mode
from torch.utils._device import DeviceContext

from whyloss.sources import place
from whyloss.sources.clock import worked
from whyloss.sources.originals import unpatched
from whyloss.sources.structure import tensors_in
from whyloss.sources.tape import Leaf, Node, Packed, Reference, Slot, Tape, autocast_state, store
from whyloss.sources.undisturbed import Undisturbed, without_numbers
from whyloss.sources.window import Meta, Step, Window, storage  # noqa: F401

_functorch = torch._C._functorch.maybe_current_level

NODE_LIMIT = 6000
CONSTANT_LIMIT = 256 * 2**20  # bytes held by one step's constants
CROSSING = 3e-6  # seconds that a torch function costs on its way through the mode, whatever is done with it

# Calls that return no tensor and change none: run, never recorded.
_SILENT = {"shape", "dtype", "device", "requires_grad", "is_leaf", "grad_fn", "ndim", "layout", "names", "is_cuda",
           "is_sparse", "is_quantized", "is_mkldnn", "size", "dim", "numel", "nelement", "stride", "storage_offset",
           "is_contiguous", "is_floating_point", "is_complex", "data_ptr", "element_size", "__len__", "get_device",
           "__hash__", "__repr__", "__format__", "backward", "register_hook", "retain_grad", "_version", "type",
           "is_meta", "is_nested", "untyped_storage", "__class__", "itemsize", "nbytes", "is_same_size",
           "is_inference", "_is_view", "is_neg", "is_conj", "output_nr", "_backward_hooks", "retains_grad", "is_signed"}
_RANDOM = {"rand", "randn", "rand_like", "randn_like", "randint_like", "bernoulli", "normal", "multinomial",
           "dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout", "poisson", "gumbel_softmax", "rrelu"}
_STEPS = ("add_", "sub_", "addcdiv_", "addcmul_", "copy_", "lerp_")  # what the last line of an update is
_WRITES = {*_STEPS, "__iadd__", "__isub__", "set_data", *(f"_foreach_{name}" for name in _STEPS)}
_SWITCHES = {"requires_grad_", "set_requires_grad", "set_data", "set_grad"}  # matter on a tensor that the step made, or by hand
# Leaving torch: what is computed from the result has no gradient.
EXITS = {"item", "tolist", "numpy", "__float__", "__int__", "__bool__", "__array__", "__index__"}


class Recorder(TorchFunctionMode):
    """The mode. `window` is the step being recorded, `path` the module call stack inside the root module."""

    worked = staticmethod(worked)   # the clock of our own work

    def __init__(self) -> None:
        super().__init__()
        self.window: Window | None = None
        self.paused = 0
        self.depth = 0
        self.path: list[tuple[str, object]] = []
        self.installed = False
        self.leaving = False    # to be taken off as soon as no torch function runs
        self.spent = 0.0        # seconds of our own work so far
        self.shared: dict[tuple[int, int], tuple] = {}  # constants already cloned in earlier steps
        self.on_operation = None
        self.on_update = None   # hears of a node that changes a parameter by hand
        self.is_target = None   # whether no optimizer trains a module
        self.on_idle = None  # hears of every torch function between two windows
        self.on_result = None  # hears of every torch function outside modules, with its result
        self.on_write = None   # hears of the lines outside optimizers that write to the values of a leaf
        self.on_switch = None  # hears of requires_grad being switched inside a window
        self.on_inner = None   # hears of every traced torch function inside modules

    # ------------------------------------------------------------------ on and off
    def install(self) -> None:
        self.leaving = False
        if not self.installed:
            above = []
            while torch._C._len_torch_function_stack():
                above.append(_pop_mode())
            if above and isinstance(above[-1], DeviceContext):
                _push_mode(above.pop())  # torch.device(...): torch insists that it lies lowest
            _push_mode(self)
            for mode in reversed(above):
                _push_mode(mode)
            self.installed = True

    def remove(self) -> None:
        """Inside our own handler torch has taken the mode off and puts it back: then it is taken off at the next call of settle()."""
        if self.installed:
            above, found = [], False
            while not found and torch._C._len_torch_function_stack():
                mode = _pop_mode()
                found = mode is self
                if not found:
                    above.append(mode)
            for mode in reversed(above):
                _push_mode(mode)
            self.installed = self.leaving = not found

    def settle(self) -> None:
        if self.leaving:
            self.remove()

    # ------------------------------------------------------------------ every torch function
    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self.leaving or torch._C._is_tracing() or _functorch() is not None or without_numbers():
            return func(*args, **kwargs)
        if type(func) is FunctionType:
            func = unpatched(func)
        self.spent += CROSSING
        window = self.window
        if window is None or self.paused or torch._C._current_graph_task_id() != -1:
            if window is None and not self.paused and self.on_idle is not None:
                self.on_idle(func, args)
                if self.on_result is not None:
                    return self._between(func, args, kwargs)
            return func(*args, **kwargs)
        name = getattr(func, "__name__", "") or ""
        if name == "__get__":
            name = func.__self__.__name__
        elif name == "__set__":
            name = f"set_{func.__self__.__name__}"
        outer = self.depth == 0
        if name in _SWITCHES and self.on_switch is not None:
            self.on_switch(func, args)
        if name in _SILENT or name in _SWITCHES and not (outer and window.taped and self._made_here(window, args)):
            result = func(*args, **kwargs)
            if outer and name == "type" and self.on_result is not None:
                self.on_result(name, args, kwargs, result)
            return result
        if window.sparse and not (torch.is_grad_enabled() and any(t.requires_grad for t in tensors_in((args, kwargs)))):
            return func(*args, **kwargs)
        if not outer and not window.traced:
            return func(*args, **kwargs)
        began = self.worked()
        where = place.here(2)
        try:
            with Undisturbed():
                tape_args = self._refer(window, args, kwargs) if outer and window.taped else None
                inputs = [window.seen(t) for t in tensors_in((args, kwargs))] if window.traced else []
                before = [window.meta[i].wants_grad for i in inputs]
        except Exception as error:  # our bookkeeping must never reach the user's loop
            window.drop(f"{type(error).__name__} while recording {name}: {error}")
            return func(*args, **kwargs)
        self.spent += self.worked() - began
        result = func(*args, **kwargs)
        began = self.worked()
        try:
            with Undisturbed():
                if any(t.is_meta for t in tensors_in(result)):
                    return result  # without numbers: a framework asks for shapes before it trains
                if tape_args is not None and window.taped:
                    self._tape(window, func, name, tape_args, result, where)
                if window.traced:
                    self._trace(window, name, where, inputs, before, args, kwargs, result)
        except Exception as error:
            window.drop(f"{type(error).__name__} while recording {name}: {error}")
        self.spent += self.worked() - began
        if outer and self.on_result is not None:
            self.on_result(name, args, kwargs, result)
        return result

    def _between(self, func, args, kwargs):
        """A torch function between two windows: run, and heard with its result."""
        result = func(*args, **kwargs)
        name = getattr(func, "__name__", "") or ""
        if name == "__get__":
            name = func.__self__.__name__
        if torch._C._current_graph_task_id() == -1 and (name not in _SILENT or name == "type"):
            self.on_result(name, args, kwargs, result)
        return result

    def _tape(self, window: Window, func, name: str, tape_args, result, where) -> None:
        if len(window.nodes) >= NODE_LIMIT:
            window.drop(f"more than {NODE_LIMIT} operations outside the model in one step")
            return
        if not any(True for _ in tensors_in(result)) and name != "__setitem__" and name not in _SWITCHES:
            return
        args, kwargs = tape_args
        if self._fixed(window, name, args, kwargs, result):
            return  # computed from the batch alone: where it is used, its value is a constant of the step
        node = Node(func, name, args, kwargs, [], where, torch.is_grad_enabled(), autocast_state())
        node.inputs = references((args, kwargs))
        if name in _WRITES and self.on_write is not None and self._on_values(window, args[0] if args else None):
            self.on_write(where)
        if self._by_hand(window, node):
            if not window.sparse and self.on_update is not None:
                self.on_update(window, node)
            if isinstance(args[0].ref, Leaf):
                return
        if name in _SWITCHES:
            node.func, node.outputs = _switched(func), window.make_slots(window.keep_target)
        elif name == "__setitem__" and hasattr(args[0], "ref"):
            # x[...] = y returns nothing; the written tensor gets a new slot of its own
            node.func = _set_item
            node.outputs = window.make_slots(window.keep_target)
        else:
            node.outputs = window.make_slots(result)
            if name in ("grad", "data", "detach") and isinstance(args[0].ref if hasattr(args[0], "ref") else None, (Leaf, Slot)):
                if isinstance(args[0].ref, Leaf) or args[0].ref.index in window.aliases:
                    window.aliases.update(node.outputs)
                    if name == "grad" or isinstance(args[0].ref, Slot) and args[0].ref.index in window.of_gradient:
                        window.of_gradient.update(node.outputs)
        window.nodes.append(node)

    @staticmethod
    def _made_here(window: Window, args) -> bool:
        """Whether the first argument is a result of this step, or a leaf that is written by hand."""
        first = args[0] if args else None
        return isinstance(first, torch.Tensor) and (window.slot_of(first) is not None or first.is_leaf and first.requires_grad)

    @staticmethod
    def _on_values(window: Window, target) -> bool:
        """Whether what is written to is the values of a leaf (or one of several), not its gradient."""
        refs = [getattr(one, "ref", None) for one in (target if isinstance(target, (list, tuple)) else (target,))]
        return any(isinstance(ref, Leaf) or isinstance(ref, Slot) and ref.index in window.aliases - window.of_gradient for ref in refs)

    @staticmethod
    def _by_hand(window: Window, node: Node) -> bool:
        """Whether a node changes a parameter or its gradient in place: an update without an optimizer."""
        target = getattr(node.args[0], "ref", None) if node.args else None
        if isinstance(target, Slot):
            if node.writes and target.index in window.aliases:
                return True
            if node.name in ("detach", "view_as", "data") and target.index in window.aliases:
                return False
        if isinstance(target, Leaf):
            return node.writes or node.name in _SWITCHES
        return False

    @staticmethod
    def _fixed(window: Window, name: str, args, kwargs, result) -> bool:
        """Whether a result depends on nothing but constants: not on a model, a parameter or noise drawn on the way (indices drawn are data)."""
        if name in _RANDOM and window.live or name == "__setitem__" or name.startswith("__i") or name.endswith("_") and not name.endswith("__"):
            return False
        if any(not isinstance(ref, int) for ref in references((args, kwargs))):
            return False
        return not any(t.requires_grad for t in tensors_in(result))

    def _trace(self, window: Window, name, where, inputs, before, args, kwargs, result) -> None:
        step = Step(name, where, self.path[-1][0] if self.path else "", inputs, [], torch.is_grad_enabled(),
                    args, kwargs, result, bool(getattr(self.path[-1][1], "training", True)) if self.path else True)
        at = len(window.trace)
        window.trace.append(step)
        if name == "__setitem__" and isinstance(args[0], torch.Tensor):
            step.outputs = [window.note_tensor(args[0], at)]
        else:
            step.outputs = [window.note_tensor(t, at) for t in tensors_in(result)]
        if self.on_operation is not None:
            self.on_operation(window, step)
        if self.path and self.on_inner is not None:
            self.on_inner(name, step.module, args, kwargs, where)

    # ------------------------------------------------------------------ root module calls
    def root_call(self, window: Window, module, key: int, args, kwargs):
        """References of a root call's arguments, taken before the module runs."""
        return self._refer(window, args, kwargs)

    def root_done(self, window: Window, module, key: int, stored, result, where) -> None:
        args, kwargs = stored
        if not torch.is_grad_enabled() and self.is_target is not None and self.is_target(module) and \
                not any(isinstance(ref, Slot) for ref in references((args, kwargs))):
            return  # a network that no optimizer trains, run on the batch: its output is a constant of the step, like a label
        node = Node(None, type(module).__name__, args, kwargs, [], where, torch.is_grad_enabled(), autocast_state(),
                    module=key, modes=tuple(part.training for part in module.modules()))
        node.inputs = references((args, kwargs))
        node.outputs = window.make_slots(result)
        window.nodes.append(node)

    def _refer(self, window: Window, args, kwargs):
        def refer(tensor):
            slot = window.slot_of(tensor)
            if slot is not None:
                return Slot(slot)
            if tensor.is_leaf and tensor.requires_grad:
                window.keep.append(tensor)
                if not isinstance(tensor, torch.nn.Parameter) and id(tensor) not in window.leaf_values:
                    window.leaf_values[id(tensor)] = tensor.detach().clone()
                return Leaf(id(tensor))
            return self._constant(window, tensor)

        if args and isinstance(args[0], torch.Tensor):
            window.keep_target = args[0]
        return store(args, refer), store(kwargs, refer)

    def _constant(self, window: Window, tensor: torch.Tensor) -> int:
        key = window.constant_ids.get(id(tensor))
        if key is not None:
            return key
        version = getattr(tensor, "_version", 0) if not tensor.is_inference() else 0
        kept = self.shared.get((id(tensor), version))
        if kept is None or kept[0] is not tensor:
            clone = tensor.detach().clone()
            kept = (tensor, clone)
            if len(self.shared) < 4096 and tensor.grad_fn is None:  # else the graphs of past steps would stay alive
                self.shared[(id(tensor), version)] = kept
        window.constant_bytes += tensor.numel() * tensor.element_size()
        if window.constant_bytes > CONSTANT_LIMIT:
            window.drop(f"the step's batches need more than {CONSTANT_LIMIT >> 20} MiB")
        key = window.add_constant(tensor, kept[1])
        if tensor.requires_grad:
            window.foreign.add(key)
        return key


def references(stored) -> list:
    """Every Slot, Leaf or constant key in stored arguments."""
    found, stack = [], [stored]
    while stack:
        thing = stack.pop()
        if isinstance(thing, Reference):
            found.append(thing.ref)
        elif isinstance(thing, Packed):
            stack.extend(thing.items)
        elif isinstance(thing, (tuple, list)):
            stack.extend(thing)
        elif isinstance(thing, dict):
            stack.extend(thing.values())
        elif isinstance(thing, slice):
            stack.extend((thing.start, thing.stop, thing.step))
    return found


def _set_item(target, index, value):
    target[index] = value
    return target


def _switched(func):
    """requires_grad_ or an attribute's setter, as a function that returns the tensor."""
    return functools.partial(_switch, func)


def _switch(func, tensor, *args, **kwargs):
    func(tensor, *args, **kwargs)
    return tensor


def _total(tensors, gradients):
    """What backward() over several tensors differentiates, as one number."""
    return sum(t.sum() if g is None else (t * g).sum() for t, g in zip(tensors, gradients))


def joined(window: Window, losses: list, gradients: list) -> int | None:
    """The slot of the sum of several tensors that backward() is called on together; None if one was not seen being made."""
    slots = [window.slot_of(t) for t in losses]
    if any(slot is None for slot in slots):
        return None
    given = [None if g is None else Reference(window.add_constant(g, g.detach().clone())) for g in gradients]
    node = Node(_total, "sum", ([Reference(Slot(s)) for s in slots], given), {}, [], None, True, autocast_state())
    node.inputs = references(node.args)
    total = torch.zeros(())
    node.outputs = window.make_slots(total)
    window.nodes.append(node)
    return node.outputs[0]


BEFORE = "a tensor computed before the recording began carries a gradient"


def needed_for(nodes: list[Node], wanted: set[int], storages: dict[int, int]) -> tuple[list[Node], set[int]]:
    """(the nodes that `wanted` slots depend on, in order; the slots none of them makes)."""
    needed, kept, made = set(wanted), [], set()
    for node in reversed(nodes):
        writes = bool(node.outputs) and node.writes
        touched = writes and storages[node.outputs[0]] in {storages[s] for s in needed} - {0}
        if touched or any(out in needed for out in node.outputs):
            kept.append(node)
            made.update(node.outputs)
            needed.update(ref.index for ref in node.inputs if isinstance(ref, Slot))
    return kept[::-1], needed - made


def finish(window: Window, loss: torch.Tensor, place_: str | None, value: float, slot: int | None = None) -> Tape:
    """The tape of a finished window: only what the loss depends on is kept. slot: of the loss, where it is no tensor of the user."""
    slot = window.slot_of(loss) if slot is None else slot
    if slot is None or window.reason is not None:
        reason = window.reason or "backward() was called on a tensor that was not seen being computed"
        return Tape([], Slot(-1), value, place_, {}, window.rng, window.step, False, reason)
    chain = [*window.earlier, window] if window.borrowed else [window]
    storages = {s: at for w in chain for s, at in w.storages.items()}
    kept, missing = needed_for([node for w in chain for node in w.nodes], {slot}, storages)
    used = {ref for node in kept for ref in node.inputs if isinstance(ref, int)}
    constants = {key: tensor for w in chain for key, tensor in w.constants.items() if key in used}
    foreign = {key for w in chain for key in w.foreign}
    reason = BEFORE if missing or used & foreign or used - constants.keys() else None
    first = next((w for w in chain if any(node in kept for node in w.nodes)), window) if window.borrowed else window
    tape = Tape(kept, Slot(slot), value, place_, constants, first.rng, window.step, reason is None, reason)
    keys = {ref.key for node in kept for ref in node.inputs if isinstance(ref, Leaf)}
    tape.inputs = {key: tensor for w in chain for key, tensor in w.leaf_values.items() if key in keys}
    return tape
