"""Every check, found by scanning the folders: a new check is a new file, there is no list to edit."""

import importlib
import pkgutil

from whyloss.check import Check

FAMILIES = ("record", "wiring", "distributed", "start", "memorise", "rate", "initialisation", "data", "shapes", "gradients", "numerics",
            "generalisation")


def _scan() -> list[type[Check]]:
    found = []
    for family in FAMILIES:
        package = importlib.import_module(f"{__name__}.{family}")
        for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda i: i.name):
            module = importlib.import_module(f"{package.__name__}.{info.name}")
            found += [thing for thing in vars(module).values()
                      if isinstance(thing, type) and issubclass(thing, Check) and thing is not Check and thing.__module__ == module.__name__]
    return found


ALL: list[type[Check]] = _scan()
