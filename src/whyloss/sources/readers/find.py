"""From paths to logs: which files under them are logs, of which format, and which belong to one run. Then each log is read on its own."""

import glob
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from whyloss.errors import LogUnreadable, NothingLogged
from whyloss.logged import LoggedRun
from whyloss.sources.readers import (
    delimited,
    dvclive,
    jsonl,
    ledger,
    mlflow_files,
    mlflow_sqlite,
    opened,
    parquet,
    refused,
    remote,
    settings_beside,
    tensorboard,
    text_log,
    trackio,
    trainer_state,
    wandb_offline,
    whyloss_report,
)

# the first that recognises a file reads it: told by their first bytes, by their names, by what the text looks like
READERS = {
    reader.__name__.rsplit(".", 1)[1]: reader
    for reader in (
        parquet, wandb_offline, mlflow_sqlite, trackio, ledger, tensorboard, refused, trainer_state, whyloss_report, jsonl, delimited, text_log,
    )
}
FOLDERS = {reader.__name__.rsplit(".", 1)[1]: reader for reader in (refused, mlflow_files, dvclive, trainer_state, tensorboard)}
# names under which a walk through folders looks; a file that is named itself is always looked at
_LOGS = (*delimited.SUFFIXES, *jsonl.SUFFIXES, *text_log.SUFFIXES, ".wandb", ".db", ".sqlite", ".sqlite3", ".parquet", ".feather", ".arrow")
_PASSED = {
    ".git", "__pycache__", "node_modules", ".venv", "venv", "site-packages", ".ipynb_checkpoints", ".cache", ".tox", ".trash", "artifacts",
    "weights",
}
_NO_LOGS = {
    "requirements.txt", "license.txt", "readme.txt", "classes.txt", "package.json", "package-lock.json", "tokenizer.json", "vocab.json",
    "vocab.txt", "merges.txt", "tokenizer_config.json", "special_tokens_map.json", "generation_config.json", "added_tokens.json",
    "wandb-summary.json", "wandb-metadata.json", "preprocessor_config.json", "model.safetensors.index.json", "rng_state.pth", "cmakelists.txt",
    "labels.txt",
}
_CURVES = re.compile(r"loss|acc|err|reward|return|perplexity|ppl|mse|mae|score|f1|auc|learning|lr\b", re.I)
DEEPEST = 64


@dataclass(frozen=True)
class Found:
    """One log to read: a file, or a folder that is one run. reader: its key in READERS or FOLDERS, None where it is recognised when it is read.
    named: the user named it, rather than a folder that holds it."""

    path: str
    reader: str | None = None
    named: bool = True

    def __str__(self) -> str:
        return self.path


def recognise(path):
    """The reader module for a file or folder, or None. Raises LogUnreadable where the file cannot be opened."""
    path = remote.local(path)
    if os.path.isdir(path):
        return next((reader for reader in FOLDERS.values() if reader.recognises(path, b"")), None)
    head = opened.head(path)
    return next((reader for reader in READERS.values() if reader.recognises(path, head)), None)


def read_one(log, *, columns=None) -> list[LoggedRun]:
    """The runs of one log: a path, an address or a Found. They can be pickled. Raises LogUnreadable only."""
    found = log if isinstance(log, Found) else Found(os.fspath(remote.local(log)))
    if remote.is_remote(found.path):
        return _read_remote(found, columns)
    columns = None if columns is None else tuple(columns)
    try:
        reader = {**READERS, **FOLDERS}[found.reader] if found.reader else recognise(found.path)
        if reader is None:
            reader = _unknown(found.path)
        runs = reader.read(found.path, columns=columns)
    except LogUnreadable:
        raise
    except (OSError, MemoryError, RecursionError) as error:
        raise LogUnreadable(f"{found.path}: cannot be read: {getattr(error, 'strerror', None) or str(error) or type(error).__name__}") from error
    if columns is None and not any(run.series for run in runs):
        raise NothingLogged(f"{found.path}: counters only, no curve" + (f"; {runs[0].warnings[0]}" if runs and runs[0].warnings else ""))
    if len(runs) == 1:
        folder = found.path if os.path.isdir(found.path) else os.path.dirname(os.path.abspath(found.path))
        runs[0].settings = {**settings_beside.of_folder(folder), **runs[0].settings}
    return runs


def _unknown(path: str):
    head = b"" if os.path.isdir(path) else opened.head(path)
    if os.path.isdir(path):
        raise LogUnreadable(f"{path}: a folder that is no run itself: give read_runs the folder, to look for logs in it")
    if not head.strip(b" \r\n\t\0"):
        raise NothingLogged(f"{path}: the file is empty")
    if opened.is_binary(head):
        raise LogUnreadable(f"{path}: binary data of no format that is read (CSV, JSON, event files, W&B, MLflow, trackio, DVCLive, Parquet)")
    return text_log


def _read_remote(found: Found, columns) -> list[LoggedRun]:
    with remote.fetched(found.path) as copy:
        try:
            runs = read_one(Found(copy, found.reader, found.named), columns=columns)
        except LogUnreadable as error:
            raise type(error)(str(error).replace(copy, found.path)) from None
        for run in runs:
            run.id = run.id.replace(copy, found.path)
            run.files = tuple(str(file).replace(copy, found.path) for file in run.files)
            run.warnings = [warning.replace(copy, found.path) for warning in run.warnings]
        return runs


def find_logs(paths) -> Iterator[Found]:
    """The logs under files, folders, patterns and addresses, each once. Raises LogUnreadable for a path where nothing is."""
    seen: set = set()
    for path in [paths] if isinstance(paths, (str, Path)) else paths:
        path = remote.local(os.fspath(path))
        yield from _under(path, seen)


def _under(path: str, seen: set) -> Iterator[Found]:
    if remote.is_remote(path):
        yield from _remote(path)
    elif os.path.isdir(path):
        yield from _walk(path, seen)
    elif os.path.lexists(path):
        if _new(path, seen):
            yield Found(path)
    else:
        matches = sorted(glob.iglob(os.path.expanduser(path), recursive=True)) if any(mark in path for mark in "*?[~") else []
        if not matches:
            raise LogUnreadable(f"{path}: no such file or folder")
        for match in matches:
            if os.path.isdir(match):
                yield from _walk(match, seen)
            elif _new(match, seen):
                yield Found(match, None, match == path)


def _new(path: str, seen: set) -> bool:
    """Whether a file or folder was not met before, under whatever name: links may lead in circles."""
    try:
        told = os.stat(path)
        key = told.st_dev, told.st_ino
    except OSError:
        key = os.path.abspath(path)
    if key in seen:
        return False
    seen.add(key)
    return True


def _walk(folder: str, seen: set, depth: int = 0) -> Iterator[Found]:
    if depth > DEEPEST or not _new(folder, seen):
        return
    try:
        # links last: W&B's "latest-run" is another name of a run
        entries = sorted(os.scandir(folder), key=lambda entry: (entry.is_symlink(), _natural(entry.name)))
    except OSError:
        yield Found(folder, "unreadable", False)
        return
    offline = [entry for entry in entries if entry.name.endswith(".wandb")]
    if offline and re.match(
        r"(?:offline-)?run-|latest-run", os.path.basename(os.path.abspath(folder))
    ):  # what lies beside it is W&B's own copy of the output, and its own logs
        yield from (Found(entry.path, "wandb_offline", False) for entry in offline if _new(entry.path, seen))
        return
    unit = next((name for name, reader in FOLDERS.items() if reader.recognises(folder, b"")), None)
    taken: set[str] = set()
    if unit is not None:
        yield Found(folder, unit, False)
        taken = _taken(folder, unit)
    if taken == {"*"}:
        return
    below = []
    for entry in entries:
        if entry.name in taken or entry.name in _PASSED:
            continue
        try:
            is_folder = entry.is_dir()
        except OSError:
            continue
        if is_folder:
            if not entry.name.startswith(".") or entry.name == ".aim":
                below.append(entry.path)
        elif _is_log_name(entry.name) and _new(entry.path, seen):
            yield Found(entry.path, None, False)
    for path in below:
        yield from _walk(path, seen, depth + 1)


def _taken(folder: str, unit: str) -> set[str]:
    """The names in a folder that its run has taken; "*" for all."""
    if unit in ("mlflow_files", "refused"):
        return {"*"}
    if unit == "dvclive":
        return {"plots", "scalars", "metrics.json", "params.yaml", "report.md"}
    if unit == "trainer_state":
        return {
            "trainer_state.json",
            "trainer_log.jsonl",
            "all_results.json",
            "train_results.json",
            "eval_results.json",
            "config.json",
            *(name for name in os.listdir(folder) if name.startswith("checkpoint-")),
        }
    files = tensorboard.files_of(folder)
    return {os.path.relpath(file, folder).split(os.sep)[0] for file, _ in files}


def _is_log_name(name: str) -> bool:
    low = opened.plain_name(name)
    plain = low in text_log.NAMES or "." not in low and low.startswith(("log-", "log_"))  # icefall's "log-train-2025-03-04-09-12-07"
    return low not in _NO_LOGS and not low.startswith(".") and (low.endswith(_LOGS) or tensorboard.is_events(name) or plain)


def _natural(name: str) -> list:
    """version_10 comes after version_9."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d{1,18})", name)]


def _remote(address: str) -> Iterator[Found]:
    names = list(remote.tree(address))
    if names == [address] or (len(names) == 1 and "*" not in address):
        yield Found(names[0])
        return
    runs: dict[str, str] = {}
    for name in names:
        folder, _, file = name.rpartition("/")
        for part, unit in (("/metrics/", "mlflow_files"), ("/plots/metrics/", "dvclive"), ("/checkpoint-", "trainer_state")):
            before = name.find(part)
            if before >= 0 and (unit != "mlflow_files" or f"{name[:before]}/meta.yaml" in names):
                if unit != "trainer_state" or file == trainer_state.FILE:
                    runs.setdefault(name[:before], unit)
                break
        else:
            if tensorboard.is_events(file):
                runs.setdefault(folder, "tensorboard")
    for folder, unit in runs.items():
        yield Found(folder, unit, False)
    for name in names:
        if not any(
            name.startswith(f"{folder}/") and (unit != "tensorboard" or tensorboard.is_events(name)) for folder, unit in runs.items()
        ) and _is_log_name(name.rpartition("/")[2]):
            yield Found(name, None, False)


def read_runs(paths: Iterable, *, columns=None) -> Iterator[LoggedRun]:
    """The runs under files, folders, patterns and addresses, one log at a time.

    columns  names of the series to keep, or None for all
    A log that cannot be read gives a run without series, of the format "unreadable", whose warning says why. Files that a folder happens to hold and
    that are no logs (a configuration, a note) are passed over. Raises LogUnreadable for a path where nothing is, and where no log was found at all.
    """
    nothing = True
    for found in find_logs(paths):
        for run in read_found(found, columns=columns):
            nothing = False
            yield run
    if nothing:
        told = paths if isinstance(paths, (str, Path)) else ", ".join(map(str, paths))
        raise LogUnreadable(f"{told}: no training log found (CSV, JSON, event files, W&B, MLflow, trackio, DVCLive, Parquet, text)")


def read_found(found: Found, *, columns=None) -> list[LoggedRun]:
    """The runs of one log for many: what cannot be read is a run whose warning says so, what is no log is none. For worker processes."""
    if found.reader == "unreadable":
        return [LoggedRun(found.path, "unreadable", (found.path,), warnings=[f"{found.path}: the folder cannot be listed"])]
    try:
        runs = read_one(found, columns=columns)
        return [run for run in runs if found.named or run.format not in ("json", "jsonl", text_log.FORMAT) or _is_log(run)]
    except NothingLogged as error:
        if not found.named and opened.plain_name(found.path).endswith(
            (*jsonl.SUFFIXES, *text_log.SUFFIXES, *text_log.NAMES, ".db", ".sqlite", ".sqlite3")
        ):
            return []
        return [LoggedRun(found.path, "unreadable", (found.path,), warnings=[str(error)])]
    except LogUnreadable as error:
        if not found.named and _no_log(found.path):
            return []
        return [LoggedRun(found.path, "unreadable", (found.path,), warnings=[str(error)])]


def _is_log(run: LoggedRun) -> bool:
    """Whether text or JSON that a folder happens to hold is a log of a training: curves over a counter, or of a name that trainings log."""
    curves = [series for series in run.series.values() if len(series) > 1]
    return any(_CURVES.search(name) for name in run.series) or any(series.step_unit != "row" for series in curves)


def _no_log(path: str) -> bool:
    """A database of another program, met in a folder."""
    return path.endswith((".db", ".sqlite", ".sqlite3")) and not ledger.is_ledger(os.path.basename(path))
