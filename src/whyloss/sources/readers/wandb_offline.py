"""W&B's offline runs (`run-*.wandb`): a log of records in LevelDB's framing, each a protocol buffer.

Written while the run goes on, so the end may lack.
"""

import json
import os
import struct
import zlib
from collections.abc import Iterator

from whyloss.errors import LogUnreadable, NothingLogged
from whyloss.logged import LoggedRun
from whyloss.sources.readers import jsonl, opened, protobuf
from whyloss.sources.readers.table import Rows, runs_of

FORMAT = "W&B offline run"
_BLOCK, _HEADER, _MARK = 1 << 15, 7, b":W&B"
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_HISTORY, _CONFIG, _RUN = 2, 5, 17  # fields of wandb's Record


def recognises(path, head: bytes) -> bool:
    return head.startswith(_MARK) or str(path).endswith(".wandb")


def read(path, *, columns=None) -> list[LoggedRun]:
    rows, settings, warnings, names = Rows(), {}, [], {}
    damaged = 0
    for record in _records(path, warnings):
        try:
            for number, kind, value in protobuf.fields(record):
                if kind != 2:
                    continue
                if number == _HISTORY:
                    rows.add(_history(value))
                elif number == _CONFIG:
                    _config(value, settings)
                elif number == _RUN:
                    _run(value, settings, names)
        except (ValueError, RecursionError):
            damaged += 1
    if damaged:
        warnings.append(f"{path}: {damaged} damaged records left out")
    if not rows.height:
        raise NothingLogged(f"{path}: no history in this W&B run: nothing was logged" + (f"; {warnings[0]}" if warnings else ""))
    settings = {**{f"wandb/{k}": v for k, v in names.items()}, **jsonl.simple(settings)}
    id = opened.name_of(path) + (f"#{names['name']}" if names.get("name") else "")
    return runs_of(rows.table(settings=settings, warnings=warnings), id, FORMAT, columns=columns, files=(path,))


def _records(path, warnings: list[str]) -> Iterator[bytes]:
    """The records, put together from their fragments; up to the first that is damaged or cut off."""
    count, parts, held = 0, [], 0
    with opened.open_bytes(path) as stream:
        if stream.read(_HEADER)[:4] != _MARK:
            size = os.path.getsize(path)
            raise LogUnreadable(f"{path}: {'the file is empty' if not size else 'no W&B run: it does not begin with :W&B'}")
        left = _BLOCK - _HEADER
        while True:
            if left < _HEADER:
                stream.read(left)
                left = _BLOCK
            start = stream.read(_HEADER)
            if len(start) < _HEADER:
                break
            check, size, kind = struct.unpack("<IHB", start)
            data = stream.read(size)
            left -= _HEADER + size
            if len(data) < size or left < 0 or (kind not in (_FULL, _FIRST, _MIDDLE, _LAST)):
                start = b"?" if start.strip(b"\0") else b""  # zeros: room that was not written yet
                break
            if check not in _checks(zlib.crc32(data, zlib.crc32(bytes([kind])))):
                warnings.append(f"{path}: record {count + 1} is damaged: the rest is left out")
                return
            parts, held = ([data], size) if kind in (_FULL, _FIRST) else ([*parts, data], held + size)
            if held > opened.DOCUMENT:
                raise LogUnreadable(f"{path}: record {count + 1} is longer than {opened.DOCUMENT >> 20} MiB")
            if kind in (_FULL, _LAST):
                count += 1
                yield b"".join(parts)
                parts = []
    if start or parts:
        warnings.append(f"{path}: cut off after {count} records: the rest is left out")


def _checks(crc: int) -> tuple[int, int]:
    """The check as W&B writes it, and as LevelDB does."""
    return crc, (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def _items(data, number: int) -> Iterator[tuple[str, object]]:
    """(name, value) of the items of a history or config record."""
    for place, kind, item in protobuf.fields(data):
        if place != number or kind != 2:
            continue
        key, nested, value = "", [], None
        for inner, _, told in protobuf.fields(item):
            if inner == 1:
                key = protobuf.words(told)
            elif inner == 2:
                nested.append(protobuf.words(told))
            elif inner == 16:
                value = json.loads(protobuf.words(told))
        yield "/".join(nested) or key, value


def _history(data) -> dict:
    cells = {}
    for name, value in _items(data, 1):
        cells.update(jsonl.flat(value, name))
    if "_step" not in cells:
        for place, kind, step in protobuf.fields(data):
            if place == 2 and kind == 2:
                cells["_step"] = next((value for inner, _, value in protobuf.fields(step) if inner == 1), 0)
    return cells


def _config(data, settings: dict) -> None:
    for name, value in _items(data, 1):
        if not name.startswith("_wandb"):
            settings.update(jsonl.flat(value, name))


def _run(data, settings: dict, names: dict) -> None:
    for number, kind, value in protobuf.fields(data):
        if number == 4 and kind == 2:
            _config(value, settings)
        elif number in (1, 3, 8) and kind == 2:
            names[{1: "id", 3: "project", 8: "name"}[number]] = protobuf.words(value)
