"""One run of MLflow's file store: a folder with `meta.yaml` and one file for each metric, "time value step" a line."""

import os
from pathlib import Path

from whyloss.errors import LogUnreadable, NothingLogged
from whyloss.logged import LoggedRun
from whyloss.sources.readers import opened
from whyloss.sources.readers.jsonl import simple
from whyloss.sources.readers.points import Points
from whyloss.sources.readers.table import to_number

FORMAT = "MLflow files"


def recognises(path, head: bytes) -> bool:
    return os.path.isdir(path) and os.path.isfile(os.path.join(path, "meta.yaml")) and os.path.isdir(os.path.join(path, "metrics"))


def read(path, *, columns=None) -> list[LoggedRun]:
    folder, points, warnings, files = Path(path), Points(), [], []
    for file in sorted(each for each in (folder / "metrics").rglob("*") if each.is_file()):
        name = file.relative_to(folder / "metrics").as_posix()
        if columns is not None and name not in columns:
            continue
        files.append(file)
        try:
            _metric(file, name, points, warnings)
        except LogUnreadable as error:
            warnings.append(str(error))
    if not points:
        raise NothingLogged(f"{path}: an MLflow run without any logged metric" + (f"; {warnings[0]}" if warnings else ""))
    told = _texts(folder / "tags").get("mlflow.runName")
    id = opened.name_of(path) + (f"#{told}" if told else "")
    return [points.run(id, FORMAT, files or (path,), settings=simple(_texts(folder / "params")), warnings=warnings, columns=columns)]


def _metric(file: Path, name: str, points: Points, warnings: list[str]) -> None:
    bad = 0
    for number, line, _ in opened.lines(file, warnings):
        cells = [to_number(cell) for cell in line.split()]
        if len(cells) in (2, 3) and None not in cells:  # the oldest stores have no step
            points.add(name, cells[2] if len(cells) == 3 else 0.0, cells[1], cells[0] / 1000)
        elif line.strip():
            bad = bad or number
    if bad:
        warnings.append(f'{file}: line {bad}: not "time value step": left out')


def _texts(folder: Path) -> dict[str, str]:
    """File name -> content, for the small files of parameters and tags."""
    found = {}
    for file in sorted(each for each in folder.rglob("*") if each.is_file()) if folder.is_dir() else ():
        try:
            with open(file, encoding="utf-8", errors="replace") as stream:
                found[file.relative_to(folder).as_posix()] = stream.read(8000).strip()
        except OSError:
            continue
    return found
