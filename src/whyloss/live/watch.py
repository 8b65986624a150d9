"""All runs at some paths, followed. One thread looks; what pages ask for is made of copies under a lock."""

import gzip
import json
import threading
import time
from collections import deque
from dataclasses import replace

from whyloss.live.condition import Condition
from whyloss.live.find import Finder
from whyloss.live.follow import Run, follow
from whyloss.render import live as shown
from whyloss.render.chart import thin

TURN = 0.3        # seconds of reading after which what was found so far is told
ALERTS = 500      # newest ones that are kept
SKETCH = 40       # values of the small picture of a loss
MARKS = 12        # of a run's alerts, in the picture of its loss
KEPT = 3          # times what a picture took to make, it is shown before it is made again
LISTED = 2000     # things told of one run that are remembered, so that none is told twice


class Watch:
    """Follows every run at `paths`.

    rows     id -> (version, JSON text) of the table of runs         notes  what was not found
    alerts   (number, JSON text) of what runs told, the newest last
    """

    def __init__(self, paths):
        self.finder = Finder(paths)
        self.runs: dict[str, Run] = {}
        self.rows: dict[str, tuple[int, str]] = {}
        self.alerts: deque[tuple[int, str]] = deque(maxlen=ALERTS)
        self.notes: list[str] = []
        self._said: dict[str, dict] = {}              # run -> what it told, to be told once
        self._marks: dict[str, list] = {}
        self._counts: dict[str, int] = {}
        self._states: dict[str, tuple] = {}           # what a row was written from
        self._made: dict[str, tuple] = {}             # run -> (version, when, seconds it took, JSON, the same packed)
        self._lock = threading.Lock()
        self._number = self._version = 0

    # ------------------------------------------------------------------ looking, in one thread
    def look(self) -> bool:
        """Read what is new, for a moment at most: those that have waited longest first. -> whether a page has something to show"""
        changed = self.finder.due() and self._find()
        began, told = time.monotonic(), []
        for run in sorted(self.runs.values(), key=lambda run: run.looked):
            now = time.monotonic()
            if now - began > TURN:
                break
            if run.due(now):
                with self._lock:  # for one run at a time: pages that ask for pictures wait no longer than that
                    run.look()
                told += [(run, {**event, "step": _number(event["step"]), "unix": _number(event["unix"])}) for event in run.told()]
        with self._lock:
            for run, event in sorted(told, key=lambda pair: pair[1]["unix"] or 0.0):
                changed |= self._tell(run, event)
            for run in self.runs.values():
                changed |= self._row(run)
        return bool(changed)

    def _find(self) -> bool:
        places, before = {place.id: place for place in self.finder.look()}, self.notes
        self.notes = self.finder.notes
        with self._lock:
            return self._place(places) or self.notes != before

    def _place(self, places: dict) -> bool:
        changed = False
        for id in [id for id in self.runs if id not in places]:
            for held in (self.runs, self.rows, self._states, self._made, self._said, self._marks, self._counts):
                held.pop(id, None)
            changed = True
        for id, place in places.items():
            if id not in self.runs or self.runs[id].place != place:  # a new one, or a further rank of one
                version = self.runs[id].version + 1 if id in self.runs else 0
                self.runs[id] = follow(place)
                self.runs[id].version = version
        return changed

    def _tell(self, run: Run, event: dict) -> bool:
        data = event["data"] if isinstance(event["data"], dict) else {"message": str(event["data"])}
        if event["kind"] == "val_loss":
            return False
        message = str(data.get("message") or ", ".join(f"{key} {value}" for key, value in data.items()))[:2000]
        known, key = self._said.setdefault(run.place.id, {}), (event["step"], event["kind"], message)
        if key in known or len(known) >= LISTED:
            return False
        known[key] = True
        alert = "expected" in data   # the others are facts: resumed, went back, problems of ours
        if alert:
            self._counts[run.place.id] = self._counts.get(run.place.id, 0) + 1
            marks = self._marks.setdefault(run.place.id, [])
            marks.append((event["step"] or 0, str(event["kind"])))
            del marks[:-MARKS]
        self._number += 1
        self.alerts.append((self._number, shown.dumps(shown.alert(self._number, run.place.id, run.place.name, event, message, alert))))
        return True

    def _row(self, run: Run) -> bool:
        """Write a run's row anew if it changed."""
        id = run.place.id
        try:
            now = run.condition
        except Exception as error:  # as in _drawn
            now = Condition("broken", f"cannot be read: {type(error).__name__}: {error}"[:300])
        now = replace(now, wrote=_number(now.wrote), began=_number(now.began))
        if run.problem:
            now = replace(now, kind="broken", words=run.problem)
        state = run.version, now, self._counts.get(id, 0)
        if self._states.get(id) == state:
            return False
        self._states[id] = state
        text = shown.dumps(shown.row(id, run.place.name, now, step=run.step, loss=run.loss.ends, sketch=thin(run.loss.values, SKETCH),
                                     version=run.version, alerts=state[2], ranks=len(run.place.files)))
        self._version += 1
        self.rows[id] = self._version, text
        return True

    # ------------------------------------------------------------------ what pages ask for, in any thread
    def pictures(self, id: str, *, packed: bool = False) -> bytes | None:
        """The pictures of a run as JSON, perhaps packed with gzip; None where there is no such run. Made anew only where that costs little."""
        with self._lock:
            run, made = self.runs.get(id), self._made.get(id)
            if run is None:
                return None
            if made is None or made[0] != run.version and time.monotonic() - made[1] > KEPT * made[2]:
                began = time.monotonic()
                text = shown.dumps({"version": run.version, "figures": self._drawn(run)}).encode()
                made = self._made[id] = run.version, time.monotonic(), time.monotonic() - began, text, gzip.compress(text, 3)
            return made[4 if packed else 3]

    def _drawn(self, run: Run) -> list[dict]:
        try:
            return shown.pictures(run.grids(), run.others(), self._marks.get(run.place.id, ()), run.place.id, run.place.name)
        except Exception as error:  # a ledger may hold anything
            run.problem = f"cannot be drawn: {type(error).__name__}: {error}"[:300]
            return []

    def numbers(self, id: str, name: str) -> str | None:
        """The table behind one picture of a run, as HTML; None where there is none."""
        with self._lock:
            run = self.runs.get(id)
            return shown.numbers(run.grids(), run.others(), name) if run else None

    def together(self, ids) -> str:
        """The losses of some runs as one table, as HTML."""
        with self._lock:
            runs = [self.runs[id] for id in ids if id in self.runs]
            return shown.together([(run.place.name, run.loss.steps, run.loss.values) for run in runs])

    def state(self) -> str:
        """Everything in the table and what was told, as JSON: for programs."""
        rows = ",".join(text for _, text in list(self.rows.values()))
        alerts = ",".join(text for _, text in list(self.alerts))
        return f'{{"now":{json.dumps(time.time())},"runs":[{rows}],"alerts":[{alerts}],"notes":{json.dumps(self.notes)}}}'

    def news(self, seen: dict) -> str | None:
        """What a page that has seen `seen` lacks, as JSON, or None; `seen` is brought up to date. An empty one has seen nothing."""
        rows = list(self.rows.items())
        new = [text for id, (version, text) in rows if seen.get(id) != version]
        gone = [id for id in seen.get("ids", ()) if id not in self.rows]
        last = seen.get("alert", 0)
        alerts = [(number, text) for number, text in list(self.alerts) if number > last]
        if not (new or gone or alerts or seen.get("notes") != self.notes):
            return None
        notes = list(self.notes)
        first = not seen
        seen.clear()
        seen.update({id: version for id, (version, _) in rows}, ids=[id for id, _ in rows], notes=notes, alert=alerts[-1][0] if alerts else last)
        return (f'{{"now":{json.dumps(time.time())},"first":{json.dumps(first)},"runs":[{",".join(new)}],"gone":{json.dumps(gone)},'
                f'"alerts":[{",".join(text for _, text in alerts)}],"notes":{json.dumps(notes)}}}')


def _number(value) -> int | float | None:
    """What a ledger holds where a number should be."""
    return value if isinstance(value, (int, float)) and abs(value) < 1e15 else None
