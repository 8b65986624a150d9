"""Errors about a call to whyloss. (What is wrong with a training is a Finding, never an exception.)

WhylossError
├── UnknownName        an id, check, experiment or quantity that does not exist; names the nearest ones
├── NotEnoughEvidence  a question was asked that the ledger cannot answer
├── CannotReplay       the captured training step could not be run again on a copy
└── BadInput           a file, option or object that cannot be used
    └── LogUnreadable  a training log that cannot be read; the message names the file, and the line where one is known
        └── NothingLogged  the file can be read, but holds no curve
"""

import difflib


class WhylossError(Exception):
    """Base of every error whyloss raises on purpose."""


class UnknownName(WhylossError):
    """An unknown name, with the nearest known ones."""

    def __init__(self, kind: str, given: str, known):
        known = sorted(known)
        near = difflib.get_close_matches(given, known, n=3, cutoff=0.4)
        hint = f"; nearest: {', '.join(near)}" if near else f"; known: {', '.join(known)}"
        super().__init__(f"unknown {kind} {given!r}{hint}")


class NotEnoughEvidence(WhylossError):
    """The ledger does not hold what the question needs."""


class CannotReplay(WhylossError):
    """The captured step cannot be replayed on a copy; the message says why."""


class BadInput(WhylossError):
    """An input that cannot be used; the message says what was given and what would do."""


class LogUnreadable(BadInput):
    """A training log that cannot be read; the message says which file, where in it, and what would do."""


class NothingLogged(LogUnreadable):
    """A file that can be read and holds no curve: a configuration, an empty log."""
