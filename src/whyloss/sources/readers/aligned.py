"""Printed tables of aligned columns: names of several words, parted by spaces, tabs or bars, with or without a rule below; rows of numbers.

spaCy's `E    #       LOSS NER`, DeepXDE's with lists in brackets, MATLAB's, scikit-learn's, pandas', prettytable's, Markdown's.
"""

import math
import re
from itertools import islice

from whyloss.sources.readers import moments, roles, text_line
from whyloss.sources.readers.table import BLANK, to_number

_BARS = r"[|│┃║]"
_RULE = re.compile(r"[\s|│┃║+:=_\-–—─━═╌┄┈┼╪╋┿╂├┤┠┨╞╡┡┩╇╠╣╬┝┥┌┐└┘┬┴╭╮╰╯┏┓┗┛┳┻┢┪╤╧╔╗╚╝╦╩┯┷┰┸╒╕╘╛]+")
_DASHES = re.compile(r"[-:=_–—─━═╌┄┈]+")
_NAME = re.compile(r"(?:[^\W\d_]|[#%∇∆‖])[^:=,;{}<>\"!?|]{0,39}")
_NO_HEADER, _PARTED = re.compile(r"(?<!:\d)\d\.\d|%\|"), re.compile(rf"  |\t|{_BARS}")
_TOKEN = re.compile(r"\[[^\[\]]*\]|no log\b|[^\s]+", re.I)
_LISTS = re.compile(r"[\s\d.,eE+\-\[\]naif]+")
_TIME = re.compile(r"\d+:\d[\d:.,]*|(?:\d+(?:\.\d+)?\s?(?:d|h|hrs?|m|mins?|s|secs?|ms|us|µs|it/s|s/it|[kKMGT]i?B?))+")
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_PREFIX = re.compile(  # of the logging module: the same in front of each line
    r"(?:.{0,80}?\b(?:DEBUG|INFO|WARNING)\b[\]):]*(?:\w+:)?|[\[(]?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d+)?[\])]?)"
    r"(?: ?-(?= )| *\|(?= ))?(?: [\w.<>]+:[\w.<>]+:\d+ -(?= ))?"
)
_MARKS = "*+✓✔↓↑←"  # behind a row or a number: "the best so far"
_NICKNAMES = {"e": "epoch", "ep": "epoch", "itn": "epoch", "#": "step", "it": "step", "itr": "step", "no": "step"}  # in front only
_ASIDE = "gpu_mem", "instances", "size", "images", "labels", "img_size"
_TERMS = 64  # of a list; of a longer one only the sum is kept
_BEHIND = 8  # words behind a row at most
_WRAPPED = 40  # lines that one row's lists may take


class Aligned:
    """Takes line after line, as printed (its place in the line tells a cell's column). started: whether the last one was a header."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.spans: list[list[int]] = []  # where each column was seen, grown by the rows; idle where bars or tabs part the cells
        self.started = self.full = False  # full: the last row had a cell for each column
        self.sums = False  # spaCy's table
        self.warnings: list[str] = []
        self.open = ""  # a row whose lists go on in the next line
        self._parting: str | None = None
        self._prefixed = self._touching = False  # touching: no other text since the last row
        self._above, self._lines, self._last = "", 0, ()

    def row(self, line: str) -> text_line.Line | None:
        """The row of a table that a line tells, or None."""
        above, self._above, below_header, self.started = self._above, line, self.started, False
        if not line.strip() or len(line) > text_line.LONGEST:
            return None
        if _is_rule(line):
            self._ruled(above, line, below_header)
            return None
        if below_header and self._second(line):
            self.started = True
            return None
        if self._header(line):
            return None
        return self._row(line) if self.names else None

    def _header(self, line: str, ruled: bool = False) -> bool:
        if _NO_HEADER.search(line) or not _PARTED.search(line):
            return False
        prefix = _PREFIX.match(line)
        body = line if prefix is None else " " * prefix.end() + line[prefix.end() :]
        for parting in (_BARS, r"\t", None):
            cells = _parted(body, parting) if parting else [(m[0], m.start(), m.end()) for m in re.finditer(r"\S+(?: \S+)*", body)]
            if len(cells) > 1:
                return self._begin(cells, parting, ruled, prefix is not None)
        return False

    def _begin(self, cells: list, parting: str | None, ruled: bool, prefixed: bool) -> bool:
        """Takes (name, start, end) for the columns, if they can be: a counter among them, a metric or a rule below, nothing that is no name."""
        names = [re.sub(r"\s+", " ", name.strip()) for name, *_ in cells]
        spacy = names[:2] == ["E", "#"]
        names = [_NICKNAMES.get(name.lower(), name) if place < 2 else name for place, name in enumerate(names)]
        if not all(_is_name(name) or (parting and not name) for name in names) or not any(map(_counts, names)):
            return False
        if not ruled and not any(not _counts(name) and (text_line._METRIC.search(name) or text_line._PHASE.search(name)) for name in names):
            return False
        self.names, self.spans, self._parting, self._prefixed = names, [[a, b] for _, a, b in cells], parting, prefixed
        self.sums = spacy and any(name.lower().startswith("loss ") for name in names)
        self.started, self.open, self._last, self._touching = True, "", (), True
        return True

    def _ruled(self, above: str, line: str, below_header: bool) -> None:
        """A rule below a header: its pieces are the columns' places, and where the names stand too close they part these."""
        places = [(m.start(), m.end()) for m in _DASHES.finditer(line)]
        if not above or _is_rule(above):
            return
        if below_header or self._header(above, ruled=True):
            if self._parting is None and len(places) == len(self.names):
                self.spans = [[min(a, c), max(b, d)] for (a, b), (c, d) in zip(self.spans, places)]
            if self._parting is not None or len(places) in (1, len(self.names)):
                return
        if len(places) > 1 and not re.search(_BARS, above):
            ends = [start for start, _ in places[1:]] + [max(len(above), places[-1][1])]
            if all(above[start - 1 : start].isspace() for start, _ in places[1:]):
                self._begin([(above[a:b], a, end) for (a, end), b in zip(places, ends)], None, True, _PREFIX.match(above) is not None)

    def _second(self, line: str) -> bool:
        """A second line of names between bars (MATLAB: "Mini-batch" above "Loss"), joined to the first."""
        more = [re.sub(r"\s+", " ", name.strip()) for name, *_ in _parted(line, _BARS)]
        words = any(more) and all(not name or re.match(r"[^\W\d_]|\(", name) for name in more)
        if self._parting != _BARS or len(more) != len(self.names) or not words:
            return False
        self.names = [f"{a} {b}".strip() for a, b in zip(self.names, more)]
        return True

    def _row(self, line: str) -> text_line.Line | None:
        body, stamp = line, None
        if self._prefixed:
            prefix = _PREFIX.match(line)
            if prefix is None:
                return self._not_a_row()
            body, stamp = " " * prefix.end() + line[prefix.end() :], moments.STAMP.search(line[:80])
        if self.open:
            held, self.open = self.open, ""
            if _LISTS.fullmatch(body) and self._lines < _WRAPPED:
                body, self._lines = f"{held} {body.strip()}", self._lines + 1
        if "[" in body and body.rfind("[") > body.rfind("]"):
            if re.match(r"\s*[\d.]+\s", body) and _LISTS.fullmatch(body):
                self.open = body
            return None
        cells = self._cells(body)
        told = None if cells is None else self._told(cells)
        if told is None:
            return self._not_a_row()
        self._touching, self._lines = True, 0
        told.seconds = moments.of(stamp) if stamp else None
        return told

    def _not_a_row(self) -> None:
        self._touching, self._lines = False, 0

    def _cells(self, body: str) -> list | None:
        """What stands in each column: a number, a list of them, a phase's name, or None; None where the line is no row of this table."""
        if self._parting:
            found = [text.strip() for text, *_ in _parted(body, self._parting)]
            if len(found) == len(self.names) - 1 and not re.match(rf"\s*{_BARS}", body):
                found.append("")  # a blank at the end of the line
            cells = [self._cell(place, text) for place, text in enumerate(found)] if len(found) == len(self.names) else [False]
            self.full = True
            return None if any(cell is False for cell in cells) else cells
        first = _TOKEN.search(body)
        if first is None or self._cell(0, first[0]) is False:
            return None  # most lines of prose
        tokens = [(m[0], m.start(), m.end()) for m in islice(_TOKEN.finditer(body), len(self.names) + _BEHIND)]
        while len(tokens) > len(self.names) and not _is_value(tokens[-1][0]):
            tokens.pop()  # "<- best"
        if len(tokens) == len(self.names) + 1 and tokens[0][0].isdigit() and tokens[0][2] <= self.spans[0][0]:
            tokens.pop(0)  # the index of pandas
        self.full = len(tokens) == len(self.names)
        if self.full:
            places = list(range(len(tokens)))
        elif max(2, len(self.names) / 2) <= len(tokens) < len(self.names) and not self._lines:
            places = [self._place(start, end) for _, start, end in tokens]
            if any(a >= b for a, b in zip(places, places[1:])):
                return None
        else:
            return None
        cells = [None] * len(self.names)
        for place, (text, *_) in zip(places, tokens):
            cells[place] = self._cell(place, text)
        if any(cell is False for cell in cells):
            return None
        if self.full and not self._lines:
            self.spans = [[min(a, start), max(b, end)] for (a, b), (_, start, end) in zip(self.spans, tokens)]
        return cells

    def _place(self, start: int, end: int) -> int:
        """The column that a cell stands in, or else is nearest to."""
        return max(range(len(self.spans)), key=lambda i: min(end, self.spans[i][1]) - max(start, self.spans[i][0]))

    def _cell(self, place: int, text: str):
        cell = _cell(text)
        named = cell is False and roles.short(self.names[place]) in roles.PHASE and roles.phase_prefix(text)
        return text if named else cell  # "val" below "split"

    def _told(self, cells: list) -> text_line.Line | None:
        told, counters = text_line.Line(), {}
        for name, cell in zip(self.names, cells):
            if isinstance(cell, str):
                told.words[name] = cell
            elif cell is None or not name:
                continue
            elif isinstance(cell, list):
                told.cells.update(_terms(name, cell))
            elif _counts(name):
                counters[name] = cell
            elif not _is_aside(name):
                told.cells[name] = cell
        if not told.cells or not counters or any(not 0 <= value < math.inf for value in counters.values()):
            return None
        order = tuple(sorted(counters.items(), key=lambda each: roles.rank(each[0], roles.EPOCHS) is None))
        if not self._touching and order < self._last and len(order) == len(self._last):
            return None  # of another table, whose header is none
        self._last = order
        if self.sums and counters.get("step") == 0 and (losses := [name for name in told.cells if name.lower().startswith("loss ")]):
            self.warnings = ["spaCy sums a loss over the batches since the row above, and that of step 0 is of one batch: left out"]
            for name in losses:
                del told.cells[name]
        first = next(iter(counters))
        if roles.rank(first, roles.EPISODES) is None:
            setattr(told, "step" if roles.rank(first, roles.EPOCHS) is None else "epoch", counters.pop(first))
        told.cells.update(counters)
        return told


def _parted(line: str, parting: str) -> list[tuple[str, int, int]]:
    """(text, start, end) of what stands between bars or tabs; those around the line part nothing."""
    found, start = [], 0
    for mark in [*re.finditer(parting, line)]:
        found.append((line[start : mark.start()], start, mark.start()))
        start = mark.end()
    found.append((line[start:], start, len(line)))
    if parting == _BARS:
        found = found[1 if not found[0][0].strip() else 0 :]
        found = found[: -1 if found and not found[-1][0].strip() else None]
    return found


def _is_rule(line: str) -> bool:
    return _RULE.fullmatch(line) is not None and sum(map(len, _DASHES.findall(line))) >= 3


def _is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and len(name.split()) < 6 and not re.search(r"\d\.\d|\d[eE][-+]|\.$", name)


def _counts(name: str) -> bool:
    return any(roles.rank(name, known) is not None for known in (roles.STEPS, roles.EPOCHS, roles.EPISODES))


def _is_aside(name: str) -> bool:
    return roles.short(name) in _ASIDE or bool(text_line._TIMING.search(name.lower()) and not re.search("loss|acc|err|score", name, re.I))


def _cell(text: str):
    """A number; a list of numbers; None for a blank, a time or a mark; False for what stands in no cell."""
    if text.startswith("[") and text.endswith("]"):
        inside = text[1:-1].strip()
        terms = ["".join(each.split()) for each in inside.split(",")] if "," in inside else inside.split()  # a number may be broken over two lines
        values = [to_number(each) for each in terms]
        return False if None in values else values
    text = text.rstrip(_MARKS) or ""
    if text.lower() in BLANK or text.lower() == "no log":
        return None
    number = to_number(text.replace(",", "") if _THOUSANDS.fullmatch(text) else text)
    if number is None:
        return None if _TIME.fullmatch(text) else False
    return number


def _is_value(text: str) -> bool:
    return isinstance(_cell(text), float | list)


def _terms(name: str, values: list[float]) -> dict[str, float]:
    """A loss is the sum of its terms, which are kept beside it; of other lists only the terms are."""
    if len(values) == 1:
        return {name: values[0]}
    terms = {f"{name} {place}": value for place, value in enumerate(values, 1)} if len(values) <= _TERMS else {}
    whole = values and (re.search("loss|objective", name, re.I) or not terms)
    return {name: sum(values), **terms} if whole else terms
