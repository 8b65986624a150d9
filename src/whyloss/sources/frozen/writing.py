"""Freeze a captured program into a file."""

import contextlib
import io
import sys
import time
from pathlib import Path

import torch

from whyloss.evidence import Evidence
from whyloss.sources import place
from whyloss.sources.frozen import file
from whyloss.sources.frozen.definitions import Texts
from whyloss.sources.frozen.pickling import Vault, cannot, frozen
from whyloss.sources.frozen.step import devices, parts_of
from whyloss.sources.program import Program

GLOBAL_BYTES = 64 * 2**20    # of tensors behind one global of the script; a whole data set is none of the step's
SOURCE_BYTES = 16 * 2**20    # of the user's modules together
ROUNDS = 20                  # globals that need globals that need globals


def freeze(path: Path, program: Program | None, evidence: Evidence, about: dict) -> str | None:
    """Write a file. -> None, or why it holds only the evidence. Raises OSError where nothing could be written."""
    about = {"created": time.strftime("%Y-%m-%dT%H:%M:%S"), "torch": str(torch.__version__), "script": _script(), **about}
    texts, parts, problem, omitted = Texts(), {}, about.get("problem"), {}
    if program is not None and problem is None:
        problem = program.problem
    if program is not None and problem is None:
        try:
            about["devices"] = devices(program)
            parts, omitted = _members(program, texts)
        except Exception as error:  # whatever a user's class does when it is pickled
            problem = f"the training step cannot be saved: {cannot(error)}"
    elif problem is None:
        problem = "no training step was captured"
    if problem is not None:
        parts = {}
    about.update(problem=problem, omitted=omitted)
    _quoted(texts, evidence)
    sources = {"texts": texts.texts, "defined": texts.defined, "modules": {} if problem else modules()}
    file.write(path, about, evidence, sources, parts)
    return problem


def _members(program: Program, texts: Texts) -> tuple[dict[str, bytes], dict[str, str]]:
    vault = Vault()
    step = frozen(parts_of(program), vault, texts)
    values, omitted = _globals(vault, texts)
    tensors = io.BytesIO()
    torch.save(vault.tensors, tensors)
    names = frozen(values, Vault(), texts)
    return {"tensors.pt": tensors.getvalue(), "step.pickle": step, "names.pickle": names}, omitted


def _globals(vault: Vault, texts: Texts) -> tuple[dict, dict[str, str]]:
    """Pickles of the script's globals that the definitions use, each apart: one that cannot be saved spoils no other."""
    values: dict[tuple[str, str], bytes] = {}
    omitted: dict[str, str] = {}
    tried: set[tuple[str, str]] = set()
    for _round in range(ROUNDS):
        waiting = {(module, name) for module, names in texts.needed.items() for name in names} - tried
        if not waiting:
            break
        for module, name in sorted(waiting):
            tried.add((module, name))
            count = len(vault.tensors)
            try:
                value = getattr(sys.modules[module], name)
                data = frozen(value, vault, texts)
                if vault.bytes_behind(count) > GLOBAL_BYTES:
                    raise ValueError(f"it holds more than {GLOBAL_BYTES >> 20} MiB")
                if getattr(value, "__qualname__", None) != name or getattr(value, "__module__", None) != module:  # else the text defines it
                    values[module, name] = data
            except Exception as error:
                vault.shrink(count)
                omitted[name] = cannot(error)
    return values, omitted


def _script() -> str | None:
    return place.shown(sys.argv[0]) if sys.argv and sys.argv[0] else None


def _quoted(texts: Texts, evidence: Evidence) -> None:
    """The texts that a report quotes from: the script, and every file or cell of a notebook that a place is in."""
    files = {subject.rpartition(":")[0] for (_run, _quantity, subject), _column in evidence.columns() if subject.rpartition(":")[2].isdecimal()}
    files.add(getattr(sys.modules["__main__"], "__file__", None) or "")
    for name in sorted(files - {""}):
        with contextlib.suppress(Exception):  # a file that is gone, a name that is no file
            texts.text(name)


def modules() -> dict[str, tuple[str, bool, str]]:
    """name -> (file as shown, whether it is a package, text) of the modules that the user wrote."""
    found, room = {}, SOURCE_BYTES
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if name == "__main__" or not isinstance(path, str) or not path.endswith(".py") or not place.is_user_file(path):
            continue
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, ValueError):
            continue
        room -= len(text)
        if room < 0:
            break
        found[name] = place.shown(path), hasattr(module, "__path__"), text
    for name in list(found):
        parent = name.rpartition(".")[0]
        while parent and parent not in found:  # a folder without __init__.py
            found[parent] = parent.replace(".", "/") + "/__init__.py", True, ""
            parent = parent.rpartition(".")[0]
    return found
