"""The wire format of protocol buffers, as far as logs need it: fields by number, no schema."""

import struct
from collections.abc import Iterator

_DOUBLE, _FLOAT = struct.Struct("<d"), struct.Struct("<f")


def varint(data, at: int) -> tuple[int, int]:
    """(value, next place). Raises ValueError where it does not end."""
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("a number that does not end")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def fields(data) -> Iterator[tuple[int, int, object]]:
    """(number, wire type, value) of each field: an int (types 0), or bytes (1: eight, 5: four, 2: counted). Raises ValueError on damaged data."""
    if not isinstance(data, (bytes, memoryview)):
        raise ValueError("a number where a message should be")
    at, end = 0, len(data)
    while at < end:
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, at = data[at : at + size], at + size
        else:
            raise ValueError(f"no field has wire type {kind}")
        if at > end:
            raise ValueError("a field that does not end")
        yield key >> 3, kind, value


def double(value) -> float:
    if not isinstance(value, (bytes, memoryview)) or len(value) != 8:
        raise ValueError("not a double")
    return _DOUBLE.unpack(value)[0]


def single(value) -> float:
    if not isinstance(value, (bytes, memoryview)) or len(value) != 4:
        raise ValueError("not a float")
    return _FLOAT.unpack(value)[0]


def words(value) -> str:
    if not isinstance(value, (bytes, memoryview)):
        raise ValueError("not text")
    return bytes(value).decode("utf-8", "replace")


def signed(value: int) -> int:
    """An int64, which the wire has as its two's complement."""
    if not isinstance(value, int):
        raise ValueError("not an integer")
    return value - (1 << 64) if value >= 1 << 63 else value
