"""A captured step <-> bytes: tensors apart from the objects that hold them.

The tensors go into a list of their own, which torch reads without unpickling anything; the rest is pickled and refers to
them by number, so sharing and ties are kept and devices do not matter.
"""

import importlib
import io
import pickle
import sys
import types

import torch

from whyloss.sources.frozen.definitions import Definition, NoSource, Sources, Texts

PLAIN = (torch.Tensor, torch.nn.Parameter)


class Vault:
    """The tensors of a file, each once."""

    def __init__(self) -> None:
        self.tensors: list[torch.Tensor] = []
        self.numbers: dict[int, int] = {}
        self.keep: list = []

    def number(self, tensor: torch.Tensor) -> int:
        known = self.numbers.get(id(tensor))
        if known is None:
            known = self.numbers[id(tensor)] = len(self.tensors)
            self.tensors.append(tensor.detach())
            self.keep.append(tensor)  # an id is good for as long as its object lives
        return known

    def shrink(self, count: int) -> None:
        """Forget the tensors behind the first `count`: what referred to them was given up."""
        for tensor in self.keep[count:]:
            del self.numbers[id(tensor)]
        del self.tensors[count:], self.keep[count:]

    def bytes_behind(self, count: int) -> int:
        return sum(t.numel() * t.element_size() for t in self.tensors[count:])


class Freezing(pickle.Pickler):
    """Writes objects that lie around tensors."""

    def __init__(self, file, vault: Vault, texts: Texts):
        super().__init__(file, protocol=5)
        self.vault, self.texts = vault, texts

    def persistent_id(self, thing):
        if type(thing) in PLAIN and thing.layout is torch.strided and not thing.is_quantized:
            return "tensor", self.vault.number(thing), type(thing) is torch.nn.Parameter, thing.requires_grad and thing.is_leaf
        return ("module", thing.__name__) if isinstance(thing, types.ModuleType) else None

    def reducer_override(self, thing):
        if isinstance(thing, types.GetSetDescriptorType):  # Tensor.grad, Tensor.T: what a tape calls to read an attribute
            return getattr, (thing.__objclass__, thing.__name__)
        if isinstance(thing, types.FunctionType | types.BuiltinFunctionType) or isinstance(thing, type):
            torchs = _torch_name(thing)
            if torchs is not None:
                return torch_function, (torchs,)
            if isinstance(thing, types.BuiltinFunctionType):
                return NotImplemented
            definition = self.texts.of(thing)
            if definition is not None:
                return self._reduced(thing, definition)
        return NotImplemented

    @staticmethod
    def _reduced(thing, definition: Definition):
        if definition.kind == "named":
            return defined, (definition,)
        if definition.kind == "class":
            return local_class, (definition, _free(thing))
        held = tuple(cell.cell_contents for cell in thing.__closure__ or ())
        return function, (definition, thing.__name__, thing.__defaults__, thing.__kwdefaults__, held)


def _torch_name(thing) -> str | None:
    """"torch.nn.functional.max_pool2d" for a function of torch that its own name does not lead to."""
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", "")
    if isinstance(thing, type) or module is not None and getattr(sys.modules.get(module), name, None) is thing:
        return None
    try:
        found = torch.overrides.resolve_name(thing)
    except Exception:
        return None
    return found if found and torch_function(found) is thing else None


def torch_function(name: str):
    """The function of torch with that full name; None if there is none."""
    first, *rest = name.split(".")
    found = sys.modules.get(first)
    for part in rest:
        found = getattr(found, part, None)
    return found


def _free(thing: type) -> dict:
    """The variables of the surrounding function that the methods of a local class use."""
    free = {}
    for part in vars(thing).values():
        part = getattr(part, "__func__", part)
        if isinstance(part, types.FunctionType):
            for name, cell in zip(part.__code__.co_freevars, part.__closure__ or ()):
                if name != "__class__" and cell.cell_contents is not thing:
                    free[name] = cell.cell_contents
    return free


def frozen(thing, vault: Vault, texts: Texts) -> bytes:
    """Raises an exception of any kind for what cannot be pickled; cannot() says it in words."""
    buffer = io.BytesIO()
    Freezing(buffer, vault, texts).dump(thing)
    return buffer.getvalue()


def cannot(error: Exception) -> str:
    """Why an object was not saved."""
    return str(error) if isinstance(error, NoSource) else f"{type(error).__name__}: {error}"


# ---------------------------------------------------------------------- reading
def defined(definition: Definition):
    """Stands for Sources.named in a pickle: only a Thawing unpickler knows the sources."""
    raise pickle.UnpicklingError(f"{definition.qualname} is known by its source")


def local_class(definition: Definition, free: dict):
    """Stands for Sources.local_class."""
    return defined(definition)


def function(definition: Definition, *facts):
    """Stands for Sources.function."""
    return defined(definition)


_OURS = {"defined": "named", "local_class": "local_class", "function": "function"}


class Thawing(pickle.Unpickler):
    """Reads what Freezing wrote. Runs code of whoever wrote the file: only for files that are trusted."""

    def __init__(self, data: bytes, tensors: "Tensors", sources: Sources):
        super().__init__(io.BytesIO(data))
        self.tensors, self.sources = tensors, sources

    def persistent_load(self, key):
        return importlib.import_module(key[1]) if key[0] == "module" else self.tensors.get(*key[1:])

    def find_class(self, module: str, name: str):
        if module == __name__ and name in _OURS:
            return getattr(self.sources, _OURS[name])
        return super().find_class(module, name)


class Tensors:
    """The tensors of a file by number; each is one object, however many refer to it."""

    def __init__(self, stored: list[torch.Tensor]):
        self.stored = stored
        self.made: dict[int, torch.Tensor] = {}

    def get(self, number: int, parameter: bool, wants_gradient: bool) -> torch.Tensor:
        if number not in self.made:
            tensor = self.stored[number]
            self.made[number] = torch.nn.Parameter(tensor, requires_grad=wants_gradient) if parameter else \
                tensor.requires_grad_() if wants_gradient else tensor
        return self.made[number]
