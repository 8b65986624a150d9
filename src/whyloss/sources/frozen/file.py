"""`saved.whyloss`: one zip file that holds a captured training step, what was seen of the training, and its source texts.

  whyloss.json    what the file is: versions, script, step, why it was written, what could not be saved
  evidence.json   the observations; read without torch and without running anything
  sources.json    texts of the script and of the user's modules
  tensors.pt      weights, batches, optimizer state; read by torch without unpickling objects
  step.pickle     the objects around the tensors, and names.pickle the script's globals they use: reading these runs code

It is written beside its place and moved there when complete, so a killed training leaves no half file.
"""

import json
import linecache
import os
import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from whyloss import __version__
from whyloss.errors import BadInput
from whyloss.evidence import Evidence
from whyloss.observation import Run

FORMAT = 1
SUFFIX = ".whyloss"


# ---------------------------------------------------------------------- evidence
def plain(value):
    """A value as JSON keeps it, with tuples and keys that are no strings marked, so that it comes back as it was."""
    if isinstance(value, tuple):
        return {"(": [plain(item) for item in value]}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: plain(item) for key, item in value.items()}
        return {"{": [[plain(key), plain(item)] for key, item in value.items()]}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, set | frozenset):
        return [plain(item) for item in sorted(value, key=repr)]
    return plain(value.item()) if hasattr(value, "item") else str(value)


def restored(value):
    if isinstance(value, list):
        return [restored(item) for item in value]
    if isinstance(value, dict):
        if value.keys() == {"("}:
            return tuple(restored(item) for item in value["("])
        if value.keys() == {"{"}:
            return {restored(key): restored(item) for key, item in value["{"]}
        return {key: restored(item) for key, item in value.items()}
    return value


def evidence_text(evidence: Evidence) -> str:
    return json.dumps({"runs": [run.as_dict() for run in evidence.runs.values()],
                       "columns": [[*key, column.steps, plain(column.values)] for key, column in evidence.columns()]}, default=str)


def evidence_of(text: str) -> Evidence:
    """Raises ValueError, KeyError or TypeError for what is no evidence."""
    held, evidence = json.loads(text), Evidence()
    for run in held["runs"]:
        evidence.add_run(Run(**{**run, "settings": restored(run["settings"])}))
    for run, quantity, subject, steps, values in held["columns"]:
        for step, value in zip(steps, restored(values)):
            evidence.add(quantity, value, subject=subject, step=step, run=run)
    return evidence


# ---------------------------------------------------------------------- writing
def write(path: Path, about: dict, evidence: Evidence, sources: dict, parts: dict[str, bytes]) -> None:
    """parts: the binary members by name. Raises OSError."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    head = {"format": FORMAT, "whyloss": __version__, "python": sys.version.split()[0], **about}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(beside, "w") as archive:
            for name, text in (("whyloss.json", json.dumps(head, default=str)), ("evidence.json", evidence_text(evidence)),
                               ("sources.json", json.dumps(sources))):
                archive.writestr(name, text, zipfile.ZIP_DEFLATED)
            for name, data in parts.items():
                archive.writestr(name, data)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def renew(path: Path, evidence: Evidence) -> None:
    """Put other evidence into a written file. Raises OSError, zipfile.BadZipFile."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(beside, "w") as archive:
            for item in old.infolist():
                text = evidence_text(evidence) if item.filename == "evidence.json" else old.read(item)
                archive.writestr(item.filename, text, item.compress_type)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


# ---------------------------------------------------------------------- reading
@dataclass
class Saved:
    """A file as far as it can be read without running anything of it."""

    path: Path
    about: dict
    evidence: Evidence
    sources: dict = field(default_factory=dict)

    def part(self, name: str) -> bytes:
        with zipfile.ZipFile(self.path) as archive:
            return archive.read(name)

    @property
    def whole(self) -> bool:
        """Whether it holds a step, not evidence alone."""
        return not self.about.get("problem")


def read(path: Path | str) -> Saved:
    """Raises BadInput for what is no such file."""
    path = Path(path)
    if not path.is_file():
        raise BadInput(f"no such file: {str(path)!r}; a training writes one: whyloss.Monitor(...).freeze({path.stem + SUFFIX!r})")
    try:
        with zipfile.ZipFile(path) as archive:
            about = json.loads(archive.read("whyloss.json"))
            if about["format"] > FORMAT:
                raise BadInput(f"{str(path)!r} was written by whyloss {about['whyloss']}, which is newer than this one, {__version__}")
            return Saved(path, about, evidence_of(archive.read("evidence.json").decode()), json.loads(archive.read("sources.json")))
    except BadInput:
        raise
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, OSError, EOFError) as error:
        raise BadInput(f"{str(path)!r} holds no frozen training step: {type(error).__name__}: {error}") from error


def quote(saved: Saved) -> None:
    """Let reports quote the texts in the file, whatever lies at their places here."""
    texts = {**saved.sources.get("texts", {}), **{name: text for name, _package, text in saved.sources.get("modules", {}).values()}}
    for name, text in filter(all, texts.items()):
        linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
