"""JSON of any layout: one object a line, a list of objects, an object of lists (Keras' history), an object of objects (pandas).

Nested names are joined with "/". Bare NaN and Infinity and their names as text are numbers.
"""

import ast
import json
import re
import warnings as warning_filters

from whyloss.errors import LogUnreadable, NothingLogged
from whyloss.logged import LoggedRun
from whyloss.sources.readers import opened, roles
from whyloss.sources.readers.table import Rows, runs_of, to_number

SUFFIXES = ".json", ".jsonl", ".ndjson", ".jsonlines", ".ldjson"
LONGEST = 100_000  # characters of a printed dictionary
_BY_LINE = ".jsonl", ".ndjson", ".jsonlines", ".ldjson"
SETTINGS = "config", "hparams", "hyperparameters", "hyperparams", "args", "params", "settings", "configuration", "cfg"
PROBLEMS = ValueError, RecursionError  # of json: no JSON, an integer of thousands of digits; nested without end


def recognises(path, head: bytes) -> bool:
    start = head.lstrip(b"\xef\xbb\xbf \r\n\t")[:1]
    if opened.encoding(head) != "utf-8":
        return opened.plain_name(path).endswith(SUFFIXES)
    if opened.plain_name(path).endswith(SUFFIXES):
        return not opened.is_binary(head)
    return start in (b"{", b"[") and not opened.is_binary(head) and (_by_line(head) or _parses(head))


def read(path, *, columns=None) -> list[LoggedRun]:
    head = opened.head(path)
    if not head.strip(b" \r\n\t\0"):
        raise NothingLogged(f"{path}: the file is empty")
    if opened.is_binary(head):
        raise LogUnreadable(f"{path}: binary data, not JSON")
    name = opened.encoding(head)
    if opened.plain_name(path).endswith(_BY_LINE) or _by_line(head if name == "utf-8" else head.decode(name, "replace").encode()):
        return _lines(path, columns)
    return _document(path, columns)


def python_object(told: str):
    """The value of JSON or of a Python literal as `print` writes it; None if it is neither, or longer than a line of a log."""
    if len(told) > LONGEST:
        return None
    try:
        return json.loads(told)
    except PROBLEMS:
        pass
    named = re.sub(r"(?<=[:\s\[,(])(-?(?:nan|inf))\b(?!['\"])", r"'\1'", told)  # no literals of Python
    try:
        with warning_filters.catch_warnings():
            warning_filters.simplefilter("ignore")  # of a backslash in a name
            return ast.literal_eval(named)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None


def flat(value, name: str = "", depth: int = 0) -> dict:
    """A nested object as one level: {"a": {"b": 1}} -> {"a/b": 1}. Lists, and what W&B marks as media, are left out."""
    if not isinstance(value, dict):
        return {} if isinstance(value, list) else {name: value}
    if "_type" in value or depth > 20:
        return {}
    cells = {}
    for key, inner in value.items():
        cells.update(flat(inner, f"{name}/{key}" if name else str(key), depth + 1))
    return cells


def simple(settings: dict) -> dict:
    """Settings as numbers and text; numbers that are written as text become numbers."""
    made = {}
    for name, value in settings.items():
        if value is None or isinstance(value, bool):
            made[name] = str(value)
        elif isinstance(value, (int, float)):
            made[name] = value
        else:
            number = to_number(value) if re.fullmatch(r"\s*[-+]?[\d.]+(?:[eE][-+]?\d+)?\s*", str(value)) else None
            made[name] = str(value)[:500] if number is None else number
    return made


def _by_line(head: bytes) -> bool:
    """Whether the first lines are objects of their own."""
    lines = [line.strip() for line in head.removeprefix(b"\xef\xbb\xbf").replace(b"\r", b"\n").split(b"\n") if line.strip()]
    if not lines or not lines[0].startswith(b"{"):
        return len(lines) > 1 and sum(line.startswith(b"{") for line in lines[:50]) > 0.5 * len(lines[:50]) and _parses(lines[-2])
    if len(lines) == 1:
        return False
    return lines[1].startswith(b"{") and (_parses(lines[0]) or len(lines) > 2 and _parses(lines[1]))


def _parses(data: bytes) -> bool:
    try:
        return isinstance(json.loads(data), (dict, list))
    except PROBLEMS:
        return False


def _lines(path, columns) -> list[LoggedRun]:
    rows, settings, warnings, bad = Rows(), {}, [], []
    first = None
    for number, line, ended in opened.lines(path, warnings):
        line = line.strip().rstrip(",")
        if not line or line in "[]":
            continue
        try:
            value = json.loads(line)
        except PROBLEMS:
            value = python_object(line) if line.startswith("{") else None
        if not isinstance(value, dict):
            if ended:
                bad.append(number)
            else:
                warnings.append(f"{path}: line {number}: the last line is cut off: left out")
            continue
        cells = row_of(value, settings)
        if first is None and cells:
            first = cells
            if not any(roles.is_counter(name) for name in cells):
                continue  # a line of settings, or the first of rows without a counter: known with the second
        elif first is not None and rows.height == 0 and not any(roles.is_counter(name) for name in first):
            _first(first, cells, rows, settings)
        rows.add(cells)
    if first is not None and rows.height == 0:
        rows.add(first)
    if bad:
        warnings.append(f"{path}: {len(bad)} lines are no JSON objects (lines {', '.join(map(str, bad[:5]))}{', ...' if len(bad) > 5 else ''})")
    return _runs(rows, path, "jsonl", settings, warnings, columns)


def _first(first: dict, second: dict, rows: Rows, settings: dict) -> None:
    """The first line without a counter is a row, or, where the next line has one, the settings."""
    if any(roles.is_counter(name) for name in second):
        settings.update(first)
    else:
        rows.add(first)


def row_of(value: dict, settings: dict) -> dict:
    """The cells of one object; what it holds of settings goes there."""
    for name in SETTINGS:
        if isinstance(value.get(name), dict):
            settings.update(flat(value[name]))
            value = {k: v for k, v in value.items() if k != name}
    return flat(value)


def _runs(rows: Rows, path, form: str, settings: dict, warnings: list[str], columns) -> list[LoggedRun]:
    table = rows.table(settings=simple(settings), warnings=warnings)
    if not table.numbers:
        reason = f"; {warnings[0]}" if warnings else ""
        raise NothingLogged(f"{path}: JSON without any series of numbers: no training log{reason}")
    return runs_of(table, opened.name_of(path), form, columns=columns, files=(path,))


def _document(path, columns) -> list[LoggedRun]:
    told, warnings = opened.document(path), []
    try:
        value = json.loads(told.lstrip("\ufeff"))
    except PROBLEMS as error:
        value = salvaged(told, warnings, path)
        if value is None:
            where = f"line {error.lineno}" if isinstance(error, json.JSONDecodeError) else "line 1"
            raise LogUnreadable(f"{path}: {where}: not JSON: {getattr(error, 'msg', None) or str(error)[:100]}") from None
    rows, settings = Rows(), {}
    if isinstance(value, dict):
        value = _history(value, settings)
    if isinstance(value, dict):
        value = _by_number(value) or value
    if isinstance(value, dict):
        _columns(value, rows, settings)
    elif isinstance(value, list):
        _list(value, rows, settings)
    else:
        raise NothingLogged(f"{path}: a single JSON value: no training log")
    return _runs(rows, path, "json", settings, warnings, columns)


def _by_number(value: dict) -> list | None:
    """Rows of an object that holds one for each epoch or step: {"epoch_0": {"train": {"loss": 1.2}}, ...}."""
    named = [(re.fullmatch(r"(epoch|ep|step|iter|iteration)[ _-]?(\d{1,12})", key, re.I), row) for key, row in value.items()]
    rows = [(found, row) for found, row in named if found and isinstance(row, dict)]
    if len(rows) < 3 or len(rows) < len(named) / 2:
        return None
    counter = "epoch" if rows[0][0][1].lower().startswith("ep") else "step"
    return [{counter: int(found[2]), **row} for found, row in rows]


def salvaged(told: str, warnings: list[str], path) -> list | None:
    """The whole objects of a list that was cut off; None if there is none."""
    start = told.find("[")
    decoder, found = json.JSONDecoder(), []
    while start >= 0:
        start = re.compile(r"[\[,\s]*").match(told, start).end()
        try:
            item, start = decoder.raw_decode(told, start)
        except PROBLEMS:
            break
        found.append(item)
    if not found or not all(isinstance(item, dict) for item in found):
        return None
    warnings.append(
        f"{path}: the file is cut off or damaged after {len(found)} entries (line {told.count(chr(10), 0, start) + 1}): the rest is left out"
    )
    return found


def _history(value: dict, settings: dict):
    """The part of an object that holds the rows: under "history", "log_history", "metrics", ...; the rest may be settings."""
    for name in SETTINGS:
        if isinstance(value.get(name), dict):
            settings.update(flat(value[name]))
    for name in ("log_history", "history", "logs", "log", "metrics", "results", "records", "data", "epochs", "steps"):
        inner = value.get(name)
        if isinstance(inner, list) and inner and all(isinstance(each, dict) for each in inner) or isinstance(inner, dict) and _lists(inner):
            settings.update({k: v for k, v in value.items() if isinstance(v, (str, int, float))})
            return inner
    return value


def _lists(value: dict) -> dict[str, list]:
    """The lists of numbers in an object, by their joined names."""
    found, stack = {}, [("", value, 0)]
    while stack:
        name, inner, depth = stack.pop()
        if isinstance(inner, dict) and depth < 20:
            stack += [(f"{name}/{key}" if name else str(key), each, depth + 1) for key, each in reversed(inner.items())]
        elif isinstance(inner, list) and inner and sum(to_number(x) is not None for x in inner if not isinstance(x, (list, dict))) > 0.5 * len(inner):
            found[name] = inner
    return found


def _columns(value: dict, rows: Rows, settings: dict) -> None:
    inner = [each for each in value.values() if isinstance(each, dict)]
    if inner and len(inner) == len(value):
        if all(str(key).isdigit() for key in value):  # {"0": {"loss": ...}, "1": ...}
            for key, each in value.items():
                cells = flat(each)
                rows.add(cells if any(roles.is_counter(name) for name in cells) else {"epoch": float(key), **cells})
            return
        if all(each and all(str(key).isdigit() for key in each) for each in inner):  # {"loss": {"0": ..., "1": ...}}
            keys = sorted({key for each in inner for key in each}, key=int)
            for key in keys:
                rows.add({name: each.get(key) for name, each in value.items() if not isinstance(each.get(key), (dict, list))})
            return
    lists = _lists(value)
    settings.update({k: v for k, v in flat(value).items() if isinstance(v, (str, int, float)) and k not in settings})
    for place in range(max(map(len, lists.values()), default=0)):
        rows.add({name: each[place] for name, each in lists.items() if place < len(each) and not isinstance(each[place], (list, dict))})


def _list(value: list, rows: Rows, settings: dict) -> None:
    for each in value:
        if isinstance(each, dict):
            rows.add(row_of(each, settings))
        elif isinstance(each, list) and 0 < len(each) <= 1000 and all(to_number(x) is not None for x in each if not isinstance(x, (dict, list))):
            cells = [x for x in each if not isinstance(x, (dict, list))]
            # [wall time, step, value] is TensorBoard's download of one curve
            tensorboard = len(cells) == 3 and isinstance(cells[0], float) and cells[0] > 1e9
            names = ("wall_time", "step", "value") if tensorboard else [f"column{i + 1}" for i in range(len(cells))]
            rows.add(dict(zip(names, cells)))
        elif not isinstance(each, list) and to_number(each) is not None:
            rows.add({"value": each})
