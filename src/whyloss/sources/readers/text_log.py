"""Printed logs: `epoch 3 loss: 0.12`, tqdm and Keras bars, dictionaries of the Hugging Face Trainer, tables; with time stamps and colours."""

import re

from whyloss.errors import LogUnreadable, NothingLogged
from whyloss.logged import LoggedRun
from whyloss.sources.readers import opened, roles, text_line
from whyloss.sources.readers.aligned import Aligned
from whyloss.sources.readers.jsonl import simple
from whyloss.sources.readers.table import Rows, runs_of, to_number

FORMAT = "text log"
SUFFIXES = ".log", ".txt", ".out", ".stdout", ".err", ".stderr", ".text", ".o", ".logs"
NAMES = "log", "stdout", "output", "stderr", "train", "nohup"


def recognises(path, head: bytes) -> bool:
    name = opened.plain_name(path)
    if opened.is_binary(head) or not head.strip():
        return False
    if name.endswith(SUFFIXES) or name in NAMES:
        return True
    table, lines = Aligned(), map(text_line.shown, opened.text(head[:8192]).split("\n")[:100])
    return "." not in name and any((told := table.row(line.rstrip()) or text_line.parsed(line.strip())) and told.cells for line in lines)


def read(path, *, columns=None) -> list[LoggedRun]:
    head = opened.head(path)
    if not head.strip():
        raise NothingLogged(f"{path}: the file is empty")
    if opened.is_binary(head):
        raise LogUnreadable(f"{path}: binary data, not text")
    warnings: list[str] = []
    printed = _Printed()
    number = 0
    for number, line, ended in opened.lines(path, warnings):  # noqa: B007 - the last is told
        printed.line(text_line.shown(line), ended)
    printed.finish()
    if printed.cut:
        warnings.append(f"{path}: line {number}: the last line may be cut off: left out")
    warnings += (f"{path}: {warning}" for warning in printed.aligned.warnings)
    if not printed.rows.height:
        raise NothingLogged(f'{path}: no metrics in {number} lines of text: no line like "step 100 loss 0.5"')
    table = printed.rows.table(settings=simple(printed.settings), warnings=warnings)
    return runs_of(table, opened.name_of(path), FORMAT, columns=columns, files=(path,))


class _Printed:
    """Reads line after line, and carries what later lines rely on: the epoch of a heading, the header of a table, the state of a bar."""

    def __init__(self) -> None:
        self.rows, self.settings = Rows(), {}
        self.epoch: float | None = None
        self.inner, self.total, self.passed = -1.0, 0.0, 0.0  # place in the epoch, its length, steps of the epochs before
        self.inner_epoch: float | None = None
        self.pending: tuple | None = None  # (bar, cells) that a later state of the same bar replaces
        self.header: list[str] | None = None
        self.aligned = Aligned()
        self.before: dict = {}  # metrics before the first counter: settings, if they are named once
        self.cut = False
        self.box: dict = {}  # rows of a box of names and values (stable-baselines), until its end
        self.section = ""

    def line(self, line: str, ended: bool) -> None:
        if not (shown := line.rstrip()):
            return
        line, aligned = shown.strip(), self.aligned.row(shown)
        if aligned is None and self._in_box(line):
            return
        row = self._in_table(line)
        if self.aligned.started:
            self._share_header()
            return
        if row is None and (self.aligned.open or (aligned is not None and not (ended or self.aligned.full))):
            self.cut = not ended
            return
        told = row or aligned or text_line.parsed(line)
        if told is None:
            return
        if (
            not ended
            and told.cells
            and not line.endswith(("}", "]", ")", "%"))
            and re.search(r"(?:[.eE+=:-]|\d)$", line)
            and told.bar is None
            and self.rows.height > 1
        ):
            self.cut = not set(told.cells) <= set(self.rows._numbers) or bool(re.search(r"[.eE+=:-]$", line))
            if self.cut:
                return
        self._take(told)

    def _take(self, told: text_line.Line) -> None:
        if told.epoch is not None:
            if told.epoch != self.epoch:
                self.flush()
            self.epoch = told.epoch
        evaluation = told.phase not in (None, "train")
        cells = self._counters(told, evaluation)
        cells.update({name: value for name, value in told.words.items() if len(value) < 200})
        cells.update(told.cells)
        if told.bar is not None:
            self._bar(told, cells, evaluation)
        elif told.cells:
            self.flush()
            self._row(cells)

    def _counters(self, told: text_line.Line, evaluation: bool) -> dict:
        cells = {} if self.epoch is None else {"epoch": self.epoch}
        if told.seconds is not None:
            cells["wall_time"] = told.seconds
        if evaluation or (told.bar is not None and told.last_only):
            return cells
        if told.step is not None and told.total is None:
            cells["step"] = told.step
        elif told.step is not None or told.inner is not None:
            cells["step"] = self._on(told.inner if told.step is None else told.step, told.total or 0.0)
        elif told.bar is not None:
            cells["step"] = self._on(told.bar[1], told.bar[2])
        return cells

    def _on(self, inner: float, total: float) -> float:
        """The place in an epoch as a step of the run: counted on where it starts again."""
        if inner < self.inner or (
            self.inner_epoch is not None and self.epoch is not None and self.epoch > self.inner_epoch and self.inner >= 0 and inner <= self.inner
        ):
            self.passed += max(self.inner, self.total if total == self.total else self.inner)
        self.inner, self.total, self.inner_epoch = inner, total, self.epoch
        return self.passed + inner

    def _bar(self, told: text_line.Line, cells: dict, evaluation: bool) -> None:
        key, place, of = told.bar
        if self.pending is not None:
            (key_, place_, of_), cells_ = self.pending
            same = key == key_ and of == of_ and (place == place_ or (place > place_ and (told.last_only or evaluation)))
            if not same:
                self.flush()
        if told.cells:
            self.pending = told.bar, cells

    def flush(self) -> None:
        if self.pending is not None:
            cells, self.pending = self.pending[1], None
            self._row(cells)

    def finish(self) -> None:
        """The end of the log."""
        self.flush()
        if self.box:
            self._row(self.box)

    def _row(self, cells: dict) -> None:
        counted = any(roles.rank(name, roles.STEPS) is not None or name == "epoch" for name in cells)
        if not counted and not self.rows.height and not any(_curve(name) for name in cells):
            self.settings.update({name: value for name, value in cells.items() if name != "wall_time"})  # "batch size: 32" at the start
            return
        self.rows.add(cells)

    def _in_box(self, line: str) -> bool:
        """Whether a line belongs to a box "| ep_rew_mean | 22.1 |"; the box is one row, with the names of its sections before those below."""
        found = re.fullmatch(r"\|\s{1,6}(?P<name>[^|]+?)\s*\|\s*(?P<value>[^|]*?)\s*\|", line)
        if found is None:
            if self.box and re.fullmatch(r"[-=+]{6,}", line):
                self._row({**({} if self.epoch is None else {"epoch": self.epoch}), **self.box})
                self.box, self.section = {}, ""
            return False
        name, value = found["name"], to_number(found["value"])
        if not found["value"] and name.endswith("/"):
            self.section = name
        elif value is not None:
            self.box[name if "/" in name else self.section + name] = value
        return value is not None or not found["value"]

    def _share_header(self) -> None:
        """After a header of aligned columns: of single words, both ways of reading its rows give the same names; of several, one way is left."""
        if self.header == [_bare(name) for name in self.aligned.names]:
            self.aligned.names = self.header
        else:
            self.header = None

    def _in_table(self, line: str) -> text_line.Line | None:
        """A row under a header of single words: fastai's and ultralytics' tables."""
        bar = re.search(r":?\s*\d{1,3}%\|", line)
        words = (line[: bar.start()] if bar else line).strip().strip("|").replace("|", " ").split()
        if (
            len(words) >= 3
            and words[0].lower().rstrip(":") in ("epoch", "step", "iter", "iteration", "class")
            and all(to_number(word) is None and not re.search(r"[:=]\S|^[:=]$", word) for word in words)
        ):
            self.header = [_bare(word) for word in words]
            return text_line.Line(bar=("table", 0.0, 0.0)) if bar else None
        if self.header is None or len(words) != len(self.header):
            return None
        first = self.header[0].lower()
        if first == "class":
            if words[0] != "all":
                return None
            cells = {name: number for name, word in list(zip(self.header, words))[3:] if (number := to_number(word)) is not None}
            return text_line.Line(phase="val", cells=cells)
        number = to_number(words[0])
        if number is None:
            return None
        told = text_line.Line(cells={n: x for n, w in list(zip(self.header, words))[1:] if (x := to_number(w)) is not None and not _aside(n)})
        setattr(told, "epoch" if first == "epoch" else "step", number)
        if bar:
            told.bar, told.last_only = (f"table {words[0]}", float(bar.group().strip(": %|") or 0), 100.0), True
        return told if told.cells else None


def _bare(word: str) -> str:
    """ultralytics' "Box(P" and "mAP50)" without what they close together."""
    return re.sub(r"^\w+\(|\)$", "", word).strip(":")


def _aside(name: str) -> bool:
    return name.lower() in ("gpu_mem", "instances", "size", "images", "time", "labels", "img_size")


def _curve(name: str) -> bool:
    return bool(re.search(r"loss|acc|ppl|perplex|reward|return|error", name, re.I)) and roles.rank(name, roles.STEPS) is None
