"""Thaw a file's step into a program again, on the CPU. Runs code of whoever wrote the file."""

import importlib.machinery
import importlib.util
import io
import linecache
import sys

import torch
from torch.overrides import TorchFunctionMode

from whyloss.errors import CannotReplay
from whyloss.sources.frozen.definitions import Sources
from whyloss.sources.frozen.file import Saved
from whyloss.sources.frozen.pickling import Tensors, Thawing
from whyloss.sources.frozen.step import program_of
from whyloss.sources.program import Program


def thaw(saved: Saved) -> Program:
    """The captured program. Only for files that are trusted. Raises CannotReplay with the reason."""
    try:
        sys.meta_path.insert(0, Carried(saved.sources.get("modules", {})))
        stored = torch.load(io.BytesIO(saved.part("tensors.pt")), map_location="cpu", weights_only=True)
        tensors = Tensors(stored)
        sources = Sources(saved.sources["texts"], saved.sources["defined"], {})
        pickles = Thawing(saved.part("names.pickle"), Tensors([]), sources).load()
        sources.values = {key: lambda data=data: Thawing(data, tensors, sources).load() for key, data in pickles.items()}
        program = program_of(Thawing(saved.part("step.pickle"), tensors, sources).load())
    except Exception as error:
        omitted = saved.about.get("omitted") or {}
        name = error.args[0] if isinstance(error, KeyError | NameError) and error.args else None
        why = f" ({name} was not saved: {omitted[name]})" if name in omitted else ""
        raise CannotReplay(f"the step in the file cannot be loaded: {type(error).__name__}: {error}{why}") from error
    return program


class Carried:
    """Imports the user's own modules from the texts in the file: as they were, wherever this is."""

    def __init__(self, modules: dict):
        self.modules = modules

    def find_spec(self, name: str, path=None, target=None):
        if name not in self.modules:
            return None
        file, package, _text = self.modules[name]
        spec = importlib.machinery.ModuleSpec(name, self, origin=file, is_package=package)
        spec.has_location = True
        return spec

    def create_module(self, spec):
        return None

    def exec_module(self, module) -> None:
        file, _package, text = self.modules[module.__name__]
        linecache.cache.setdefault(file, (len(text), None, text.splitlines(keepends=True), file))
        exec(compile(text, file, "exec", dont_inherit=True), vars(module))


class OnCpu(TorchFunctionMode):
    """What a step asks of another device is done on the CPU: `.cuda()`, `.to("cuda")`, `device=...`."""

    MOVES = frozenset({"cuda", "xpu", "npu", "hpu", "mps"})

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if getattr(func, "__name__", "") in self.MOVES and args and isinstance(args[0], torch.Tensor):
            return args[0]
        return func(*[_here(a) for a in args], **{key: _here(value) for key, value in (kwargs or {}).items()})


def _here(thing):
    if isinstance(thing, torch.device):
        return torch.device("cpu") if thing.type not in ("cpu", "meta") else thing
    if isinstance(thing, str) and thing.split(":")[0] in OnCpu.MOVES:
        return "cpu"
    return thing
