"""Hugging Face's trainer_state.json: training and evaluation rows in one list.

A folder of checkpoints is one run: the newest holds what the others do.
"""

import json
import os
import re

from whyloss.errors import LogUnreadable, NothingLogged
from whyloss.logged import LoggedRun
from whyloss.sources.readers import jsonl, opened
from whyloss.sources.readers.table import Rows, runs_of

FORMAT, FILE = "trainer_state.json", "trainer_state.json"
_TOLD = (
    "max_steps", "num_train_epochs", "train_batch_size", "logging_steps", "eval_steps", "save_steps", "best_metric", "best_global_step",
    "num_input_tokens_seen", "total_flos",
)


def recognises(path, head: bytes) -> bool:
    if os.path.isdir(path):
        return bool(_checkpoints(path))
    return head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{") and (opened.plain_name(path).endswith(FILE) or b'"log_history"' in head)


def read(path, *, columns=None) -> list[LoggedRun]:
    if not os.path.isdir(path):
        return _read(path, path, columns, [])
    warnings, files = [], _checkpoints(path)
    for file in files:  # newest first
        try:
            return _read(file, path, columns, warnings)
        except LogUnreadable as error:  # a checkpoint whose writing was killed
            warnings.append(str(error))
    raise LogUnreadable(warnings[0])


def _checkpoints(folder) -> list[str]:
    """The trainer_state.json of a run's folder, newest first: its own (written at the end), then the checkpoints' by step."""
    found = []
    try:
        for name in os.listdir(folder):
            step = re.fullmatch(r"checkpoint-(\d+)", name)
            file = os.path.join(folder, name, FILE)
            if step and os.path.isfile(file):
                found.append((int(step[1]), file))
    except OSError:
        return []
    own = os.path.join(folder, FILE)
    if found and os.path.isfile(own) and os.path.getmtime(own) >= os.path.getmtime(max(found)[1]) - 60:
        found.append((1 << 62, own))
    return [file for _, file in sorted(found, reverse=True)]


def _read(path, id, columns, warnings: list[str]) -> list[LoggedRun]:
    told = opened.document(path)
    if not told.strip():
        raise NothingLogged(f"{path}: the file is empty")
    try:
        state = json.loads(told.lstrip("\ufeff"))
    except jsonl.PROBLEMS as error:
        start = told.find('"log_history"')
        history = jsonl.salvaged(told[start:], warnings, path) if start >= 0 else None
        if history is None:
            raise LogUnreadable(f"{path}: line {getattr(error, 'lineno', 1)}: not JSON: {getattr(error, 'msg', str(error)[:100])}") from None
        state = {"log_history": history}
    history = state.get("log_history") if isinstance(state, dict) else None
    if not isinstance(history, list) or not any(isinstance(row, dict) for row in history):
        raise NothingLogged(f"{path}: no rows in log_history: nothing was logged")
    rows, settings = Rows(), {name: state[name] for name in _TOLD if isinstance(state.get(name), (int, float, str))}
    for row in history:
        if not isinstance(row, dict):
            continue
        cells = jsonl.flat(row)
        if "train_runtime" in cells:  # the summary at the end: its train_loss is the mean of the run, no point of a curve
            settings.update({f"summary/{k}": v for k, v in cells.items() if k not in ("step", "epoch")})
            continue
        rows.add(cells)
    return runs_of(rows.table(settings=jsonl.simple(settings), warnings=warnings), opened.name_of(id), FORMAT, columns=columns, files=(path,))
