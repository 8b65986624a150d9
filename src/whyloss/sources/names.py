"""Names for what a script made: modules and parameters as the user would write them."""

import gc
import time
import weakref

import torch

from whyloss.sources import place


def owners() -> list[torch.nn.Module]:
    """The outermost modules that own parameters: no other module holds them as a child."""
    modules = [thing for thing in gc.get_objects() if _is_module(thing)]
    children = {id(child) for module in modules for child in module.__dict__.get("_modules", {}).values() if child is not None}
    return [m for m in modules if id(m) not in children and _has_parameters(m) and not _ours(m)]


def _is_module(thing) -> bool:
    try:
        return issubclass(type(thing), torch.nn.Module) and "_modules" in vars(thing)
    except Exception:  # objects with hostile __class__ or __getattr__ live in every process
        return False


def _has_parameters(module) -> bool:
    try:
        return next(module.parameters(), None) is not None
    except Exception:
        return False


def _ours(module) -> bool:
    return getattr(module, "_whyloss_copy", False)


class Late:
    """Names of parameters from a search of the whole process: slow, so one search serves many, and they become rare."""

    def __init__(self) -> None:
        self.known: dict[int, tuple] = {}
        self.searches = 0
        self.cost = 0.0
        self.last = 0.0

    def find(self, parameter) -> str | None:
        name = self._known(parameter)
        now = time.monotonic()
        if name is None and (self.searches < 8 or now - self.last > 50 * self.cost):
            self.known = {id(p): (weakref.ref(p), f"{type(top).__name__.lower()}.{name}")
                          for top in reversed(owners()) for name, p in top.named_parameters()}
            self.searches, self.last = self.searches + 1, time.monotonic()
            self.cost = self.last - now
            name = self._known(parameter)
        return name

    def _known(self, parameter) -> str | None:
        reference, name = self.known.get(id(parameter), (None, None))
        return name if reference is not None and reference() is parameter else None


def variable_names(objects: dict[int, object]) -> dict[int, str]:
    """id -> the name a user variable (or self.attribute) has for the object, searched from the innermost user frame out."""
    found: dict[int, str] = {}
    for frame in place.user_frames(2):
        for scope in (frame.f_locals, frame.f_globals):
            for name, value in list(scope.items()):
                if id(value) in objects and not name.startswith("_"):
                    found.setdefault(id(value), name)
                holder = getattr(value, "__dict__", None) if name == "self" or not isinstance(value, torch.nn.Module) else None
                if isinstance(holder, dict) and type(value).__module__ not in ("builtins", "torch") and not isinstance(value, type(gc)):
                    for attribute, inner in list(holder.items()):
                        if id(inner) in objects:
                            found.setdefault(id(inner), attribute)
                if isinstance(value, (list, tuple)) and len(value) < 100:
                    for at, inner in enumerate(value):
                        if id(inner) in objects:
                            found.setdefault(id(inner), f"{name}[{at}]")
                elif isinstance(value, dict) and len(value) < 100 and not name.startswith("_"):
                    for key, inner in list(value.items()):
                        if id(inner) in objects:
                            found.setdefault(id(inner), f"{name}[{key!r}]")
    return found


def unregistered(module: torch.nn.Module, wanted: set[int]) -> dict[int, str]:
    """id -> "attribute[2]" for modules that sit in plain lists, tuples or dicts of `module` or its children."""
    found: dict[int, str] = {}
    for prefix, part in module.named_modules():
        for attribute, value in list(vars(part).items()):
            if attribute.startswith("_"):
                continue
            items = enumerate(value) if isinstance(value, (list, tuple)) else value.items() if isinstance(value, dict) else ()
            for key, inner in items:
                if _is_module(inner) and any(id(m) in wanted for m in inner.modules()):
                    label = f"{prefix}.{attribute}" if prefix else attribute
                    for inner_name, m in inner.named_modules():
                        if id(m) in wanted:
                            found.setdefault(id(m), f"{label}[{key!r}]" + (f".{inner_name}" if inner_name else ""))
    return found
