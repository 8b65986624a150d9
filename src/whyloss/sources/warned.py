"""Warnings that are raised while we pass a call on: they name the line that they would name without us, and are shown as often.

Python takes that line from the stack, and remembers by it what it has shown already. Warnings of our own arithmetic are nobody's business.
"""

import os
import sys
import threading
import warnings

from whyloss.sources.undisturbed import Undisturbed

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_OVERRIDES = os.path.join("torch", "overrides.py")


def patch(replace) -> None:
    """Part of Patches.install()."""
    for name, module in list(sys.modules.items()):
        if name.startswith("whyloss."):
            vars(module)["__warningregistry__"] = None  # nothing is remembered by a line of ours

    def make(original):
        def shown(message):
            if Undisturbed.thread == threading.get_ident():
                return None
            frame = meant(message, sys._getframe(1))
            if frame is None:
                return original(message)
            registry = frame.f_globals.setdefault("__warningregistry__", {})
            return warnings.warn_explicit(message.message, message.category, frame.f_code.co_filename, frame.f_lineno,
                                          frame.f_globals.get("__name__") or "<unknown>", registry, source=message.source)
        return shown

    if hasattr(warnings, "_showwarnmsg"):
        replace(warnings, "_showwarnmsg", make)


def meant(message, frame):
    """The frame that a warning would have named without us. None: it does name it, or its line is not on the stack.

    frame: the one that warned
    """
    level, ours, inner, without = 0, False, None, []
    while frame is not None and (frame.f_code.co_filename, frame.f_lineno) != (message.filename, message.lineno):
        level, ours = level + 1, ours or frame.f_code.co_filename.startswith(_HERE)
        inner = _keep(frame, inner, without)
        frame = frame.f_back
    if frame is None or not ours and not message.filename.startswith(_HERE):
        return None
    while frame is not None and len(without) <= level:
        inner = _keep(frame, inner, without)
        frame = frame.f_back
    return without[level] if len(without) > level else None


def _keep(frame, inner, without: list):
    """Add a frame, unless it is one of ours or there because of our mode: a function that torch has called twice. -> what it was"""
    code = frame.f_code
    if code.co_filename.startswith(_HERE):
        return "ours"
    if inner == "ours" and code.co_filename.endswith(_OVERRIDES):
        return "dispatch"
    if inner == "dispatch" and without and code is without[-1].f_code:
        return None
    without.append(frame)
    return None
