"""The catalogue of causes as data: one file per family, each with a list `CAUSES`, found by folder scan.

Ids are stable: they stand in reports, documentation addresses and tests, and are only ever added to.
"""

from importlib import import_module
from pkgutil import iter_modules

from whyloss.cause import FAMILIES, Cause
from whyloss.errors import UnknownName


def _scan() -> dict[str, Cause]:
    """Every cause of every family file, in the order of FAMILIES and of the file. Raises ValueError on a double id."""
    found: dict[str, Cause] = {}
    modules = {module.name for module in iter_modules(__path__)}
    for family in FAMILIES:
        if family not in modules:
            continue
        for entry in import_module(f"{__name__}.{family}").CAUSES:
            if entry.id in found:
                raise ValueError(f"cause {entry.id!r} is defined twice")
            found[entry.id] = entry
    return found


CAUSES: dict[str, Cause] = _scan()


def cause(id: str) -> Cause:
    """The cause of that id. Raises UnknownName, which names the nearest ids."""
    try:
        return CAUSES[id]
    except KeyError:
        raise UnknownName("cause", id, CAUSES) from None


def family(name: str) -> list[Cause]:
    """The causes of one family, in catalogue order. Raises UnknownName."""
    if name not in FAMILIES:
        raise UnknownName("family", name, FAMILIES)
    return [entry for entry in CAUSES.values() if entry.family == name]
