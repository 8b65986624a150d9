"""Which line of the user's code are we under? file:line of the innermost frame that is not a library's."""

import os
import sys
import sysconfig

_SELF = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LIBRARIES = tuple(os.path.realpath(p) + os.sep for p in {
    sysconfig.get_paths()["stdlib"], sysconfig.get_paths()["purelib"], sysconfig.get_paths()["platlib"]})
_known: dict[str, bool] = {}
_shown: dict[str, str] = {}


def is_user_file(filename: str) -> bool:
    """Whether a code object's filename belongs to the user (not to whyloss, the standard library or site-packages)."""
    known = _known.get(filename)
    if known is None:
        real = os.path.realpath(filename)
        known = not (filename.startswith("<frozen") or real.startswith(_SELF)
                     or any(real.startswith(lib) for lib in _LIBRARIES)
                     or f"{os.sep}site-packages{os.sep}" in real)
        if filename.startswith("<") and not filename.startswith("<ipython"):
            known = filename in ("<stdin>", "<string>")
        _known[filename] = known
    return known


def shown(filename: str) -> str:
    """A path relative to the working directory where that is shorter."""
    name = _shown.get(filename)
    if name is None:
        try:
            relative = os.path.relpath(filename)
        except ValueError:  # another drive
            relative = filename
        name = _shown[filename] = relative if not relative.startswith("..") else filename
    return name


def here(depth: int = 2) -> str | None:
    """"train.py:23", or None when no user frame is on the stack."""
    frame = sys._getframe(depth)
    while frame is not None:
        if is_user_file(frame.f_code.co_filename):
            return f"{shown(frame.f_code.co_filename)}:{frame.f_lineno}"
        frame = frame.f_back
    return None


def user_frames(depth: int = 2):
    """The user's frames, innermost first."""
    frame = sys._getframe(depth)
    while frame is not None:
        if is_user_file(frame.f_code.co_filename):
            yield frame
        frame = frame.f_back
