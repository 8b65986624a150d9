"""The bytes of a log: opened, unpacked and brought to UTF-8, in blocks of whole lines, so that no long line and no packed bomb fills the memory."""

import bz2
import gzip
import lzma
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from whyloss.errors import LogUnreadable

HEAD = 1 << 16  # bytes looked at to recognise a format
BLOCK = 1 << 22  # bytes read at a time
LINE = 1 << 24  # a longer line is no log line
DOCUMENT = 1 << 28  # one JSON document is held as a whole, at about ten times its size
BOMB = 1 << 29, 200  # unpacked bytes, and how often the packed size, beyond which a file is refused: logs pack 5 to 50 times

PACKED = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".lzma": lzma.open, ".zst": None}
FAILURES = OSError, EOFError, zlib.error, lzma.LZMAError, ValueError


def plain_name(path) -> str:
    """The file name in lower case, without the suffix of a packing."""
    name = os.path.basename(str(path)).lower()
    stem, suffix = os.path.splitext(name)
    return stem if suffix in PACKED else name


def packed(path) -> bool:
    return os.path.splitext(str(path))[1].lower() in PACKED


def open_bytes(path):
    """The file as an unpacked binary stream. Raises LogUnreadable where it cannot be opened."""
    opener = PACKED.get(os.path.splitext(str(path))[1].lower(), open)
    try:
        if not os.path.isfile(path):  # a pipe or a device would hang
            raise LogUnreadable(f"{path}: {'a folder' if os.path.isdir(path) else 'no such file'}")
        return (opener or _zstandard())(path, "rb")
    except FAILURES as error:
        raise LogUnreadable(f"{path}: cannot be opened: {_reason(error)}") from error


def _zstandard():
    try:
        from compression import zstd  # Python 3.14

        return zstd.open
    except ImportError:
        pass
    try:
        import zstandard

        return zstandard.open
    except ImportError:
        raise LogUnreadable('reading .zst needs the package zstandard: pip install "whyloss[logs]"') from None


def head(path, size: int = HEAD) -> bytes:
    """The first bytes, unpacked."""
    with open_bytes(path) as stream:
        try:
            return stream.read(size)
        except Exception as error:  # zstandard has its own error class, which may not be importable here
            raise LogUnreadable(f"{path}: cannot be read: {_reason(error)}") from error


def chunks(path, warnings: list[str] | None = None, size: int = BLOCK) -> Iterator[bytes]:
    """The unpacked bytes as they are. A packed file that breaks off gives what came before, and a warning."""
    unpacked, limit = 0, max(BOMB[0], BOMB[1] * os.path.getsize(path)) if packed(path) and os.path.isfile(path) else None
    if limit is None and os.path.isfile(path):
        size = min(size, os.path.getsize(path) + 1)  # reading sets aside what it is asked for
    with open_bytes(path) as stream:
        ended = False
        while not ended:
            pieces, held = [], 0
            while held < size and not ended:
                try:
                    piece = stream.read1(size - held) if hasattr(stream, "read1") else stream.read(size - held)
                except Exception as error:
                    if not unpacked + held or warnings is None:
                        raise LogUnreadable(f"{path}: cannot be read: {_reason(error)}") from error
                    warnings.append(f"{path}: breaks off after {unpacked + held} unpacked bytes: {_reason(error)}")
                    piece = b""
                ended = not piece
                pieces.append(piece)
                held += len(piece)
            unpacked += held
            if limit is not None and unpacked > limit:
                raise LogUnreadable(
                    f"{path}: unpacks to more than {limit >> 20} MiB, {BOMB[1]} times its size: no log does; unpack it first if it is one"
                )
            if held:
                yield b"".join(pieces)


def encoding(start: bytes) -> str:
    """ "utf-8", or a UTF-16 or UTF-32 told by its mark or by its zero bytes. Other encodings differ from UTF-8 in names only, see `text`."""
    for mark, name in ((b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if start.startswith(mark):
            return name
    few = start[:512]
    if len(few) >= 8 and not few.startswith(b"\0\0"):
        if few[1::2].count(0) > 0.9 * len(few[1::2]) and few[::2].count(0) == 0:
            return "utf-16-le"
        if few[::2].count(0) > 0.9 * len(few[::2]) and few[1::2].count(0) == 0:
            return "utf-16-be"
    return "utf-8"


def is_binary(start: bytes) -> bool:
    """Whether the first bytes are no text in any encoding: many control characters."""
    start = start[:8192]
    if not start or encoding(start) != "utf-8":
        return False
    control = sum(start.count(byte) for byte in (*range(1, 8), *range(14, 27), *range(28, 32)))
    # zeros alone may be what a power cut left in a text
    return control > 0.05 * len(start) or start.count(0) > 0.3 * len(start)


def text(line: bytes) -> str:
    """UTF-8, else Windows' Western European: what is wrong by it is a letter in a name, never a number."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("cp1252", "replace")


def blocks(path, warnings: list[str] | None = None, size: int = BLOCK) -> Iterator[bytes]:
    """UTF-8 bytes with line ends "\\n" only, cut between lines; the last block may lack its line end (the file broke off there)."""
    carry, line, first = b"", 1, True
    decode = None
    for chunk in chunks(path, warnings, size):
        if first:
            name = encoding(chunk)
            decode = None if name == "utf-8" else _decoder(name)
            chunk, first = chunk.removeprefix(b"\xef\xbb\xbf"), False
        if decode is not None:
            chunk = decode(chunk)
        if b"\0" in chunk:  # a machine that lost power leaves runs of zeros
            chunk = chunk.replace(b"\0", b"")
        chunk = carry + chunk
        held = chunk[-1:] == b"\r"  # its "\n" may come with the next chunk
        body = chunk[:-1] if held else chunk
        if b"\r" in body:
            body = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        cut = body.rfind(b"\n") + 1
        carry = body[cut:] + b"\r" * held
        if len(carry) > LINE:
            raise LogUnreadable(f"{path}: line {line + body.count(bytes([10]), 0, cut)} is longer than {LINE >> 20} MiB: not a log")
        if cut:
            line += body.count(b"\n", 0, cut)
            yield body[:cut]
    if carry:
        yield carry.replace(b"\r", b"\n")


def lines(path, warnings: list[str] | None = None) -> Iterator[tuple[int, str, bool]]:
    """(line number, text, whether it is ended) of each line. An unended last line may be cut off in a number."""
    number = 0
    for block in blocks(path, warnings):
        pieces = block.split(b"\n")
        last = pieces.pop()
        for piece in pieces:
            number += 1
            yield number, text(piece), True
        if last:
            number += 1
            yield number, text(last), False


def document(path) -> str:
    """The whole file as text, for formats that are one JSON document."""
    held, pieces = 0, []
    for piece in blocks(path):
        held += len(piece)
        if held > DOCUMENT:
            raise LogUnreadable(f"{path}: one JSON document of more than {DOCUMENT >> 20} MiB; write one object a line (JSONL) instead")
        pieces.append(piece)
    return text(b"".join(pieces))


def _decoder(name: str):
    import codecs

    decoder = codecs.getincrementaldecoder(name)("replace")
    return lambda chunk: decoder.decode(chunk).encode("utf-8")


def _reason(error: BaseException) -> str:
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return reason.splitlines()[0][:200]


def name_of(path) -> str:
    """How messages and ids write a path."""
    return path.as_posix() if isinstance(path, Path) else str(path)
