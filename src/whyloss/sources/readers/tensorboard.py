"""TensorBoard event files: all scalars, in the old form and in TF2's, with times and hyperparameters. Every point is read, none is sampled.

The files of one folder are one run, in the order of their times. `train/` and `validation/` folders beneath it (Keras, `add_scalars`) belong to it.
"""

import os
import re
import struct

import numpy as np

from whyloss.errors import LogUnreadable, NothingLogged
from whyloss.logged import LoggedRun
from whyloss.sources.readers import opened, protobuf, roles
from whyloss.sources.readers.points import Points

FORMAT = "TensorBoard events"
RECORD = 1 << 28  # a longer record is damage
_SIMPLE = {1: "f4", 2: "f8", 3: "i4", 9: "i8", 19: "f2", 14: "bfloat16"}  # TensorFlow's numbers of types


def is_events(name: str) -> bool:
    return "tfevents" in name and not name.endswith((".profile-empty", ".gz"))


def recognises(path, head: bytes) -> bool:
    if os.path.isdir(path):
        return bool(files_of(path))
    return is_events(os.path.basename(str(path))) or (
        len(head) > 24 and head[:8] == struct.pack("<Q", len(head[12:])) and b"brain.Event" in head[:60]
    )


def files_of(folder) -> list[tuple[str, str | None]]:
    """(event file, phase or None) of a run's folder and of those beneath that belong to it."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return []
    own = [(entry.path, None) for entry in entries if is_events(entry.name) and entry.is_file()]
    below = []
    for entry in entries:
        if not entry.is_dir():
            continue
        exact = roles.phase_prefix(entry.name)
        last = roles.phase_prefix(re.split(r"[_\-.]", entry.name)[-1])
        hyperparameters = own and re.fullmatch(r"\d{9,10}(\.\d+)?", entry.name)  # written by add_hparams
        if exact or (own and last) or hyperparameters:
            below += [(file, None if hyperparameters else exact or last) for file in _events_in(entry.path)]
    if not own and len({phase for _, phase in below}) < 2:
        return []
    return own + below


def _events_in(folder) -> list[str]:
    try:
        return sorted(entry.path for entry in os.scandir(folder) if is_events(entry.name) and entry.is_file())
    except OSError:
        return []


class _Run:
    """Points by tag, over the files of one run."""

    def __init__(self) -> None:
        self.points = Points()
        self.plugins: dict[str, str] = {}
        self.settings: dict = {}
        self.warnings: list[str] = []

    def event(self, data: memoryview, phase: str | None) -> None:
        wall, step, summaries = 0.0, 0, []
        for number, kind, value in protobuf.fields(data):
            if number == 5 and kind == 2:
                summaries.append(value)
            elif number == 1:
                wall = protobuf.double(value)
            elif number == 2:
                step = protobuf.signed(value)
        for summary in summaries:
            for number, kind, value in protobuf.fields(summary):
                if number == 1 and kind == 2:
                    self._value(value, step, wall, phase)

    def _value(self, data, step: int, wall: float, phase: str | None) -> None:
        tag = tensor = point = plugin = content = None
        for number, kind, value in protobuf.fields(data):
            if number == 1:
                tag = protobuf.words(value)
            elif number == 2 and kind == 5:
                point = protobuf.single(value)
            elif number == 8:
                tensor = value
            elif number == 9 and kind == 2:
                plugin, content = _plugin(value)
        if tag is None:
            return
        if plugin:
            self.plugins.setdefault(tag, plugin)
        if content is not None and tag.startswith("_hparams_/session_start_info"):
            self.settings.update(_hyperparameters(content))
        elif point is None and tensor is not None and self.plugins.get(tag, "scalars") in ("scalars", "scalar"):
            point = _tensor(tensor)
        if point is not None and not tag.startswith("_hparams_"):
            self.points.add(roles.with_phase(tag, phase) if phase else tag, step, point, wall)


def read(path, *, columns=None) -> list[LoggedRun]:
    """The one run of an event file, or of a folder of them."""
    folder = os.path.isdir(path)
    files = files_of(path) if folder else [(str(path), None)]
    run, unread = _Run(), []
    for file, phase in files:
        try:
            _file(file, phase, run)
        except LogUnreadable as error:
            unread.append(str(error))
    if len(unread) == len(files):
        raise LogUnreadable(unread[0] if unread else f"{path}: no event files")
    run.warnings += unread
    if not run.points:
        told = f"; {run.warnings[0]}" if run.warnings else ""
        if not folder or not run.settings:
            raise NothingLogged(f"{path}: event files without scalars{told}")
    files = [file for file, _ in files]
    return [run.points.run(opened.name_of(path), FORMAT, files, settings=run.settings, warnings=run.warnings, columns=columns)]


def _file(path: str, phase: str | None, run: _Run) -> None:
    damaged, count = 0, 0
    with opened.open_bytes(path) as stream:
        while True:
            start = stream.read(12)
            if not start and not count:
                raise NothingLogged(f"{path}: the file is empty")
            if len(start) < 12:
                break
            size, check = struct.unpack("<QI", start)
            if check != _masked(_crc(start[:8])) or size > RECORD:
                if not count:
                    raise LogUnreadable(f"{path}: no event file: the first record is damaged")
                run.warnings.append(f"{path}: damaged after {count} records: the rest is left out")
                return
            data = stream.read(size + 4)
            if len(data) < size + 4:
                start = data or b"?"
                break
            count += 1
            try:
                run.event(memoryview(data)[:size], phase)
            except (ValueError, struct.error, OverflowError):
                damaged += 1
    if start:
        run.warnings.append(f"{path}: cut off in record {count + 1}: the rest is left out")
    if damaged:
        run.warnings.append(f"{path}: {damaged} damaged records of {count} left out")


def _plugin(metadata) -> tuple[str | None, bytes | None]:
    name = content = None
    for number, kind, value in protobuf.fields(metadata):
        if number == 1 and kind == 2:
            for inner, kind_, told in protobuf.fields(value):
                if inner == 1:
                    name = protobuf.words(told)
                elif inner == 2 and kind_ == 2:
                    content = told
    return name, content


def _tensor(data) -> float | None:
    """The number in a tensor of one number; None for any other tensor."""
    kind, content, listed = 0, None, []
    for number, wire, value in protobuf.fields(data):
        if number == 1 and wire == 0:
            kind = value
        elif number == 2 and wire == 2:  # the shape of a scalar has no dimensions
            if any(inner == 2 and _dimension(told) != 1 for inner, _, told in protobuf.fields(value)):
                return None
        elif number == 4 and wire == 2:
            content = bytes(value)
        elif number in (5, 6, 7, 10, 13):
            listed.append((number, wire, value))
    if kind not in _SIMPLE:
        return None
    if content:
        if kind == 14:
            return float(np.frombuffer(content + b"", "<u2").astype("<u4").__lshift__(16).view("<f4")[0]) if len(content) == 2 else None
        kept = np.frombuffer(content, "<" + _SIMPLE[kind]) if len(content) == np.dtype(_SIMPLE[kind]).itemsize else np.empty(0)
        return float(kept[0]) if kept.size == 1 else None
    if len(listed) != 1:
        return 0.0 if not listed and content is None else None  # protobuf leaves zeros out
    number, wire, value = listed[0]
    if number == 5:
        return protobuf.single(value)
    if number == 6:
        return protobuf.double(value)
    if number == 13:
        half = value if wire == 0 else protobuf.varint(value, 0)[0]
        bits = np.array([half & 0xFFFF], "<u2")
        return float(bits.view("<f2")[0] if kind == 19 else (bits.astype("<u4") << 16).view("<f4")[0])
    return float(protobuf.signed(value if wire == 0 else protobuf.varint(value, 0)[0]))


def _dimension(data) -> int:
    return next((value for number, kind, value in protobuf.fields(data) if number == 1 and kind == 0), 0)


def _hyperparameters(content) -> dict:
    """name -> value of the hparams plugin's session_start_info."""
    told = {}
    for number, kind, session in protobuf.fields(content):
        if number != 3 or kind != 2:
            continue
        for inner, wire, pair in protobuf.fields(session):
            if inner == 1 and wire == 2:
                parts = {place: value for place, _, value in protobuf.fields(pair)}
                if 1 in parts and 2 in parts:
                    told[protobuf.words(parts[1])] = _setting(parts[2])
    return told


def _setting(data):
    for number, _, value in protobuf.fields(data):
        if number == 2:
            return protobuf.double(value)
        if number == 3:
            return protobuf.words(value)
        if number == 4:
            return str(bool(value))
    return "None"


def _table_of_crc() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_CRC = _table_of_crc()


def _crc(data: bytes) -> int:
    """CRC-32C. Only of the lengths: of all data it would be most of the reading time."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC[(crc ^ byte) & 255] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _masked(crc: int) -> int:
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
