"""One training step while it is recorded: what was computed, from what, and where."""

import itertools
import weakref
from dataclasses import dataclass, field

import torch

from whyloss.sources.structure import tensors_in
from whyloss.sources.tape import Node

_slots = itertools.count()      # one numbering for the whole process: a later step may go on from an earlier one's tensors
_constants = itertools.count()


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
        self.weak: dict[int, tuple] = {}        # id -> (weak reference, slot), still good after the step is over
        self.earlier: list[Window] = []         # the last steps; their tensors may be used again
        self.borrowed = False                   # and were
        self.constants: dict[int, torch.Tensor] = {}
        self.constant_ids: dict[int, int] = {}
        self.foreign: set[int] = set()          # constants that carry a gradient nobody saw being computed
        self.leaf_values: dict[int, torch.Tensor] = {}   # leaves that are no parameters: a step may make them anew
        self.aliases: set[int] = set()          # slots of .grad, .data and detach() of leaves: written to, they change the leaf
        self.of_gradient: set[int] = set()      # those of them that are a gradient
        self.live = False                       # something with a gradient was computed
        self.sparse = False                     # before the first step: only what carries a gradient is recorded
        self.constant_bytes = 0
        self.keep: list = []
        self.trace: list[Step] = []
        self.meta: list[Meta] = []
        self.index: dict[int, int] = {}
        self.plain: dict[int, int] = {}         # address -> traced result without a gradient: Variable(x.data) is another object over it
        self.cut: list[tuple] = []              # (gradient that autograd.grad gave without a graph, place, trainable leaves it depends on)
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
            slot = next(_slots)
            self.live |= tensor.requires_grad
            if isinstance(tensor, torch.nn.Parameter):
                self.storages[slot] = 0
                made.append(slot)
                continue  # written in place: it stays the parameter it was
            self.slots[id(tensor)] = slot
            self.weak[id(tensor)] = (weakref.ref(tensor), slot)
            self.storages[slot] = storage(tensor)
            self.keep.append(tensor)
            made.append(slot)
        return made

    def slot_of(self, tensor: torch.Tensor) -> int | None:
        """The slot of a tensor made in this step, or in one of the last steps if it carries a gradient."""
        slot = self.slots.get(id(tensor))
        if slot is None and tensor.requires_grad and not tensor.is_leaf:
            for window in reversed(self.earlier):
                reference, known = window.weak.get(id(tensor), (None, None))
                if reference is not None and reference() is tensor:
                    self.borrowed = True
                    self.slots[id(tensor)] = slot = known
                    self.storages[slot] = window.storages[slot]
                    self.keep.append(tensor)
                    return slot
            known = self.below(tensor)
            if known is not None and id(known) in self.slots:
                self.slots[id(tensor)] = slot = self.slots[id(known)]
                self.keep.append(tensor)
        return slot

    def below(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """The tensor that as_subclass() made a subclass of: a call that no function mode hears of."""
        if tensor.grad_fn is None or tensor.grad_fn.name() != "AliasBackward0":
            return None
        maker, number = tensor.grad_fn.next_functions[0]
        return next((t for t in reversed(self.keep) if t.grad_fn is maker and t.output_nr == number and t.shape == tensor.shape), None)

    def add_constant(self, tensor: torch.Tensor, value: torch.Tensor) -> int:
        key = next(_constants)
        self.constants[key] = value
        self.constant_ids[id(tensor)] = key
        self.keep.append(tensor)
        return key

    def retire(self) -> None:
        """Let go of the user's tensors; what a later step may go on from stays."""
        self.keep, self.trace, self.meta, self.index, self.calls = [], [], [], {}, []
        self.plain, self.cut = {}, []
        self.slots, self.constant_ids, self.scaled, self.keep_target, self.earlier = {}, {}, None, None, self.earlier[-1:] if self.borrowed else []

    def note_tensor(self, tensor: torch.Tensor, maker: int) -> int:
        at = len(self.meta)
        self.meta.append(Meta(tuple(tensor.shape), tensor.dtype, tensor.requires_grad, tensor.is_leaf, maker, tensor))
        self.index[id(tensor)] = at
        if maker >= 0 and not tensor.requires_grad and tensor.is_floating_point():
            self.plain[storage(tensor)] = at
        return at

    def seen(self, tensor: torch.Tensor) -> int:
        known = self.index.get(id(tensor))
        if known is None and (below := self.below(tensor)) is not None:
            known = self.index.get(id(below))
        if known is None and not tensor.requires_grad and not isinstance(tensor, torch.nn.Parameter):
            known = self._same_memory(tensor)
        return self.note_tensor(tensor, -1) if known is None else known

    def _same_memory(self, tensor: torch.Tensor) -> int | None:
        """A traced result that this tensor is another object over. That result is held here, so its memory has not been given to another."""
        address = storage(tensor)
        at = self.plain.get(address) if address else None
        same = at is not None and self.meta[at].shape == tuple(tensor.shape) and self.meta[at].tensor.data_ptr() == tensor.data_ptr()
        return at if same else None


def storage(tensor: torch.Tensor) -> int:
    """Address of the memory a tensor (or the tensor it is a view of) lives in; 0 where it has none."""
    try:
        return tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):
        return 0
