"""Records one training step: a torch-function mode that writes the tape and, in traced steps, what each operation was.

The mode lies at the bottom of torch's mode stack, so a user's own modes nest and unnest above it undisturbed, and it is
taken off while a compiled model runs. It returns every result unchanged.
"""

from dataclasses import dataclass, field

import torch
from torch.overrides import TorchFunctionMode, _pop_mode, _push_mode

from whyloss.sources import place
from whyloss.sources.structure import tensors_in
from whyloss.sources.tape import Leaf, Node, Slot, Tape, autocast_state, store

NODE_LIMIT = 6000
CONSTANT_LIMIT = 256 * 2**20  # bytes held by one step's constants

# Calls that return no tensor and change none: run, never recorded.
_SILENT = {"shape", "dtype", "device", "requires_grad", "is_leaf", "grad_fn", "ndim", "layout", "names", "is_cuda",
           "is_sparse", "is_quantized", "is_mkldnn", "size", "dim", "numel", "nelement", "stride", "storage_offset",
           "is_contiguous", "is_floating_point", "is_complex", "data_ptr", "element_size", "__len__", "get_device",
           "__hash__", "__repr__", "__format__", "backward", "register_hook", "retain_grad", "_version", "type",
           "is_meta", "is_nested", "untyped_storage", "__class__", "itemsize", "nbytes", "requires_grad_", "is_same_size",
           "is_inference", "_is_view", "is_neg", "is_conj", "output_nr", "_backward_hooks", "retains_grad", "is_signed"}
_RANDOM = {"rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "bernoulli", "normal", "multinomial",
           "dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout", "poisson", "gumbel_softmax", "rrelu"}
# Leaving torch: what is computed from the result has no gradient.
EXITS = {"item", "tolist", "numpy", "__float__", "__int__", "__bool__", "__array__", "__index__"}


@dataclass(slots=True)
class Step:
    """One traced operation. inputs and outputs are indexes into Window.meta."""

    name: str
    place: str | None
    module: str
    inputs: list[int]
    outputs: list[int]
    grad_enabled: bool
    args: tuple = ()
    kwargs: dict = field(default_factory=dict)
    result: object = None
    training: bool = True


@dataclass(slots=True)
class Meta:
    """A tensor of a traced step."""

    shape: tuple
    dtype: torch.dtype
    wants_grad: bool
    leaf: bool
    maker: int  # index of the Step that made it, -1 if it came from outside
    tensor: torch.Tensor


class Window:
    """What happens from the first model call of a step until backward()."""

    def __init__(self, *, taped: bool, traced: bool, evaluation: bool, step: int):
        self.taped, self.traced, self.evaluation, self.step = taped, traced, evaluation, step
        self.nodes: list[Node] = []
        self.slots: dict[int, int] = {}
        self.storages: dict[int, int] = {}
        self.slot_count = 0
        self.constants: dict[int, torch.Tensor] = {}
        self.constant_ids: dict[int, int] = {}
        self.constant_bytes = 0
        self.keep: list = []
        self.trace: list[Step] = []
        self.meta: list[Meta] = []
        self.index: dict[int, int] = {}
        self.roots: list[int] = []
        self.reason: str | None = None
        self.scaled: tuple | None = None
        self.calls: list = []
        self.keep_target = None
        self.rng = torch.get_rng_state() if taped else None

    def drop(self, reason: str) -> None:
        """Give up the tape of this step; the reason is reported if it is needed."""
        if self.reason is None:
            self.reason = reason
            self.nodes, self.constants, self.slots = [], {}, {}
            self.taped = False

    def make_slots(self, output) -> list[int]:
        made = []
        for tensor in tensors_in(output):
            slot = self.slot_count
            self.slot_count += 1
            self.slots[id(tensor)] = slot
            self.storages[slot] = storage(tensor)
            self.keep.append(tensor)
            made.append(slot)
        return made

    def note_tensor(self, tensor: torch.Tensor, maker: int) -> int:
        at = len(self.meta)
        self.meta.append(Meta(tuple(tensor.shape), tensor.dtype, tensor.requires_grad, tensor.is_leaf, maker, tensor))
        self.index[id(tensor)] = at
        return at

    def seen(self, tensor: torch.Tensor) -> int:
        known = self.index.get(id(tensor))
        return self.note_tensor(tensor, -1) if known is None else known


def storage(tensor: torch.Tensor) -> int:
    """Address of the memory a tensor (or the tensor it is a view of) lives in; 0 where it has none."""
    try:
        return tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):
        return 0


class Recorder(TorchFunctionMode):
    """The mode. `window` is the step being recorded, `path` the module call stack inside the root module."""

    def __init__(self) -> None:
        super().__init__()
        self.window: Window | None = None
        self.paused = 0
        self.depth = 0
        self.path: list[tuple[str, object]] = []
        self.installed = False
        self.shared: dict[tuple[int, int], tuple] = {}  # constants already cloned in earlier steps
        self.on_operation = None
        self.on_idle = None  # hears of every torch function between two windows

    # ------------------------------------------------------------------ on and off
    def install(self) -> None:
        if not self.installed:
            above = []
            while torch._C._len_torch_function_stack():
                above.append(_pop_mode())
            _push_mode(self)
            for mode in reversed(above):
                _push_mode(mode)
            self.installed = True

    def remove(self) -> None:
        if self.installed:
            above = []
            while torch._C._len_torch_function_stack():
                mode = _pop_mode()
                if mode is self:
                    break
                above.append(mode)
            for mode in reversed(above):
                _push_mode(mode)
            self.installed = False

    # ------------------------------------------------------------------ every torch function
    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        window = self.window
        if window is None or self.paused or torch._C._current_graph_task_id() != -1:
            if window is None and not self.paused and self.on_idle is not None:
                self.on_idle(func, args)
            return func(*args, **kwargs)
        name = getattr(func, "__name__", "") or ""
        if name == "__get__":
            name = func.__self__.__name__
        if name in _SILENT or name.startswith("__set__"):
            return func(*args, **kwargs)
        outer = self.depth == 0
        if not outer and not window.traced:
            return func(*args, **kwargs)
        where = place.here(2)
        try:
            tape_args = self._refer(window, args, kwargs) if outer and window.taped else None
            inputs = [window.seen(t) for t in tensors_in((args, kwargs))] if window.traced else []
            before = [window.meta[i].wants_grad for i in inputs]
        except Exception as error:  # our bookkeeping must never reach the user's loop
            window.drop(f"{type(error).__name__} while recording {name}: {error}")
            return func(*args, **kwargs)
        result = func(*args, **kwargs)
        try:
            if tape_args is not None and window.taped:
                self._tape(window, func, name, tape_args, result, where)
            if window.traced:
                self._trace(window, name, where, inputs, before, args, kwargs, result)
        except Exception as error:
            window.drop(f"{type(error).__name__} while recording {name}: {error}")
        return result

    def _tape(self, window: Window, func, name: str, tape_args, result, where) -> None:
        if len(window.nodes) >= NODE_LIMIT:
            window.drop(f"more than {NODE_LIMIT} operations outside the model in one step")
            return
        if not any(True for _ in tensors_in(result)) and name != "__setitem__":
            return
        args, kwargs = tape_args
        if self._fixed(name, args, kwargs, result):
            return  # computed from the batch alone: where it is used, its value is a constant of the step
        target = args[0].ref if name == "__setitem__" and hasattr(args[0], "ref") else None
        node = Node(func, name, args, kwargs, [], where, torch.is_grad_enabled(), autocast_state())
        node.inputs = references((args, kwargs))
        if target is not None:
            # x[...] = y returns nothing; the written tensor gets a new slot of its own
            node.func = _set_item
            written = window.keep_target
            node.outputs = window.make_slots(written)
        else:
            node.outputs = window.make_slots(result)
        window.nodes.append(node)

    @staticmethod
    def _fixed(name: str, args, kwargs, result) -> bool:
        """Whether a result depends on nothing but constants: not on a model, a parameter or a random number."""
        if name in _RANDOM or name == "__setitem__" or name.startswith("__i") or name.endswith("_") and not name.endswith("__"):
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

    # ------------------------------------------------------------------ root module calls
    def root_call(self, window: Window, module, key: int, args, kwargs):
        """References of a root call's arguments, taken before the module runs."""
        return self._refer(window, args, kwargs)

    def root_done(self, window: Window, module, key: int, stored, result, where) -> None:
        args, kwargs = stored
        node = Node(None, type(module).__name__, args, kwargs, [], where, torch.is_grad_enabled(), autocast_state(),
                    module=key, modes=tuple(part.training for part in module.modules()))
        node.inputs = references((args, kwargs))
        node.outputs = window.make_slots(result)
        window.nodes.append(node)

    def _refer(self, window: Window, args, kwargs):
        def refer(tensor):
            slot = window.slots.get(id(tensor))
            if slot is not None:
                return Slot(slot)
            if tensor.is_leaf and tensor.requires_grad:
                window.keep.append(tensor)
                return Leaf(id(tensor))
            return self._constant(window, tensor)

        if args and isinstance(args[0], torch.Tensor):
            window.keep_target = args[0]
        return store(args, refer), store(kwargs, refer)

    def _constant(self, window: Window, tensor: torch.Tensor) -> int:
        key = window.constant_ids.get(id(tensor))
        if key is not None:
            return key
        if tensor.requires_grad and window.reason is None:
            window.drop("a tensor computed before the recording began carries a gradient")
        version = getattr(tensor, "_version", 0) if not tensor.is_inference() else 0
        kept = self.shared.get((id(tensor), version))
        if kept is None or kept[0] is not tensor:
            clone = tensor.detach().clone()
            kept = (tensor, clone)
            if len(self.shared) < 4096:
                self.shared[(id(tensor), version)] = kept
        window.constant_bytes += tensor.numel() * tensor.element_size()
        if window.constant_bytes > CONSTANT_LIMIT:
            window.drop(f"the step's batches need more than {CONSTANT_LIMIT >> 20} MiB")
        key = len(window.constants)
        window.constants[key] = kept[1]
        window.constant_ids[id(tensor)] = key
        window.keep.append(tensor)
        return key


def references(stored) -> list:
    """Every Slot, Leaf or constant key in stored arguments."""
    from whyloss.sources.tape import Packed, Reference

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


def finish(window: Window, loss: torch.Tensor, place_: str | None, value: float) -> Tape:
    """The tape of a finished window: only what the loss depends on is kept."""
    slot = window.slots.get(id(loss))
    if slot is None:
        reason = window.reason or "backward() was called on a tensor that was not seen being computed"
        return Tape([], Slot(-1), value, place_, {}, window.rng, window.step, False, reason)
    needed, kept = {slot}, []
    for node in reversed(window.nodes):
        writes = bool(node.outputs) and node.writes
        touched = writes and window.storages[node.outputs[0]] in {window.storages[s] for s in needed} - {0}
        if touched or any(out in needed for out in node.outputs):
            kept.append(node)
            needed.update(ref.index for ref in node.inputs if isinstance(ref, Slot))
    kept.reverse()
    used = {ref for node in kept for ref in node.inputs if isinstance(ref, int)}
    constants = {key: tensor for key, tensor in window.constants.items() if key in used}
    return Tape(kept, Slot(slot), value, place_, constants, window.rng, window.step, window.reason is None, window.reason)
