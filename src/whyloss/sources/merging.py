"""The frames of many ranks -> one evidence. Needs no torch and runs no collective.

Ranks are read one after another into one state, so that memory depends on one rank's frames and not on how many ranks there
are. Norms of sharded parameters are partial on each rank: the squares are added, which is exact. Means are averaged. What all
ranks should hold alike is taken from the first and compared with the others.
"""

import json
import re
import sqlite3
from pathlib import Path

import numpy as np

from whyloss.errors import LogUnreadable
from whyloss.evidence import Evidence
from whyloss.sources import framefile
from whyloss.sources.framefile import is_absent
from whyloss.sources.gather import LISTED, Fold

NORMS = ("grad_norm", "weight_norm", "update_norm", "update_ratio")  # added as squares where sharded
MEANS = ("loss", "val_loss", "accuracy", "val_accuracy", "dead_share", "saturated_share", "activation_mean")  # each rank has its own samples
SQUARES = ("activation_std", "signal")                               # averaged as squares
ALIKE = ("weight_norm", "grad_norm")                                 # of parameters that every rank holds whole
SAME = 1e-5        # relative distance up to which two ranks hold the same: other cores add up in another order
MEMORY = 96 * 2**20    # bytes of the state
EVENTS = 1000


def ledgers(folder) -> dict[int, Path]:
    """Rank -> its ledger of frames. Raises LogUnreadable where there is none."""
    found: dict[int, Path] = {}
    for file in sorted(Path(folder).glob("*.db")):
        if framefile.holds_frames(file):
            rank = _rank(file)
            if rank not in found or file.stat().st_mtime > found[rank].stat().st_mtime:
                found[rank] = file
    if not found:
        raise LogUnreadable(f"{folder}: no ledger of frames there")
    return dict(sorted(found.items()))


def _rank(file: Path) -> int:
    with framefile.opened(file) as base:
        row = base.execute("SELECT value FROM observation WHERE quantity = 'rank' ORDER BY rowid DESC LIMIT 1").fetchone()
    told = json.loads(row[0]) if row else None
    if isinstance(told, dict) and isinstance(told.get("rank"), int):
        return told["rank"]
    named = re.search(r"rank-?(\d+)", file.name)
    return int(named[1]) if named else 0


def merge(folder, *, memory: int = MEMORY) -> Evidence:
    """What the ranks of one run say together, as run "main": at the steps that all of them sampled.

    A parameter is added up where its rank observed `sharded` of it: {"over": [ranks that hold a part] or "all"}; the norm over all
    parameters is then made of the merged ones. `ranks_merged` says what was read; `ranks_apart` how far replicas are from each other.
    Raises LogUnreadable where no ledger lies.
    """
    files = ledgers(folder)
    state, fold, steps, unread, last, launches = _State(), Fold(), None, {}, {}, {}
    for rank, file in files.items():
        try:
            mine = framefile.steps_of(file)
        except (sqlite3.Error, OSError, ValueError) as error:
            unread[rank] = str(error)
            continue
        last[rank] = int(mine[-1]) if len(mine) else -1
        steps = mine if steps is None else np.intersect1d(steps, mine, assume_unique=True)
    for rank, file in files.items():
        if rank in unread:
            continue
        try:
            if state.steps is None:
                state.begin(_chosen(steps, file, memory))
            state.read(rank, file)
            after, launch = _fingerprints(file)
            if after is not None and launches.setdefault("first", launch) == launch:  # not those of an earlier launch of the run
                fold.read(rank, file, after)
        except (sqlite3.Error, OSError, ValueError, KeyError) as error:
            unread[rank] = str(error)
    evidence = state.evidence()
    evidence.add("ranks_merged", {"ranks": len(state.ranks), "frames": len(state.steps) if state.steps is not None else 0,
                                  "absent": {str(r): why for r, why in list(unread.items())[:LISTED]},
                                  "shortest": min(last, key=last.get, default=None), "incomplete": state.incomplete()[:LISTED]})
    if len(fold.seen) > 1:
        fold.write(evidence)
    return evidence


def _chosen(steps, file: Path, memory: int) -> np.ndarray:
    """As many of the common steps as the memory has room for."""
    with framefile.opened(file) as base:
        columns = base.execute("SELECT count(*) FROM slot").fetchone()[0]
    most = max(16, memory // (24 * max(1, columns)))
    return steps if len(steps) <= most else steps[np.unique(np.linspace(0, len(steps) - 1, most).round().astype(int))]


def _fingerprints(file: Path) -> tuple[int | None, str | None]:
    """The row after which the fingerprints of the last launch begin, None where there are none; and which launch that was."""
    with framefile.opened(file) as base:
        row = base.execute("SELECT rowid, value FROM observation WHERE quantity = 'rank' ORDER BY rowid DESC LIMIT 1").fetchone() or (0, "{}")
        there = base.execute("SELECT 1 FROM observation WHERE rowid > ? AND quantity LIKE 'rank\\_%' ESCAPE '\\' LIMIT 1", row[:1]).fetchone()
    return row[0] if there else None, json.loads(row[1]).get("launch")


class _State:
    """The ranks read so far. All matrices (steps, columns)."""

    def __init__(self) -> None:
        self.steps: np.ndarray | None = None
        self.ranks: list[int] = []
        self.at: dict[tuple[str, str], int] = {}
        self.kinds: list[str] = []                 # of each column: sum, mean, square, alike, first
        self.total = np.zeros((0, 0))
        self.count = np.zeros((0, 0), np.uint16)
        self.first = framefile.blank(0, 0)
        self.groups: dict[str, tuple | range] = {}         # sharded parameter -> the ranks that hold it
        self.held: dict[str, int] = {}             # and how many of them were read
        self.apart: dict[str, dict[str, np.ndarray]] = {}
        self.facts: list[tuple] = []
        self.events: dict[tuple, dict] = {}
        self.seconds = np.zeros(0)

    def begin(self, steps: np.ndarray) -> None:
        self.steps, self.total = steps, np.zeros((len(steps), 0))
        self.count, self.first, self.seconds = np.zeros((len(steps), 0), np.uint16), framefile.blank(0, len(steps)), np.zeros(len(steps))

    def read(self, rank: int, file: Path) -> None:
        """Add one rank."""
        with framefile.opened(file) as base:
            frames = framefile.frames_in(base, steps=self.steps)
            sharded = dict(base.execute("SELECT subject, value FROM observation WHERE quantity = 'sharded' ORDER BY rowid").fetchall())
            told = base.execute("SELECT value FROM observation WHERE quantity = 'rank' ORDER BY rowid DESC LIMIT 1").fetchone()
            world = int((json.loads(told[0]) if told else {}).get("world", 1))
            if not self.ranks:
                self.facts = base.execute("SELECT quantity, subject, step, value FROM observation WHERE quantity NOT LIKE 'rank\\_%' ESCAPE '\\' "
                                          "AND quantity != 'sharded' ORDER BY rowid").fetchall()
            self._events(rank, framefile.events_in(base))
        valid = np.flatnonzero(frames.counts())
        place = np.searchsorted(self.steps, frames.steps[valid])
        values = framefile.blank(len(frames.columns), len(self.steps))
        values[place] = frames.values[valid]  # of a step that was taken twice the later one
        parsed = {text: _over(json.loads(text), rank, world) for text in set(sharded.values())}
        groups = {name: parsed[text] for name, text in sharded.items()}
        for name, group in groups.items():
            if self.groups.setdefault(name, group) == group:
                self.held[name] = self.held.get(name, 0) + 1
        self._columns(frames.columns, groups)
        where = np.array([self.at[key] for key in frames.columns], int)
        mine = np.array([self.groups.get(s) == groups.get(s) for _, s in frames.columns], bool)  # not another replica of the same shards
        values = self._ratios_to_norms(frames.columns, values, groups)
        self._add(where[mine], values[:, mine])
        self._compare(rank, where, values)
        new = is_absent(self.first[:, where]) & ~is_absent(values)
        self.first[:, where] = np.where(new, values, self.first[:, where])
        self.ranks.append(rank)

    def _columns(self, columns, groups) -> None:
        new = [key for key in columns if key not in self.at]
        for key in new:
            self.at[key] = len(self.at)
            quantity, subject = key
            self.kinds.append("sum" if subject in groups and quantity in NORMS else
                              "mean" if quantity in MEANS else "square" if quantity in SQUARES else
                              "alike" if quantity in ALIKE and not _of_all(subject) else "first")
        more = len(self.steps), len(new)
        self.total = np.concatenate([self.total, np.zeros(more)], 1)
        self.count = np.concatenate([self.count, np.zeros(more, np.uint16)], 1)
        self.first = np.concatenate([self.first, framefile.blank(len(new), len(self.steps))], 1)

    @staticmethod
    def _ratios_to_norms(columns, values, groups):
        """Of sharded parameters the update ratio times the weight norm: the norm of the update, which can be added up."""
        at = {key: i for i, key in enumerate(columns)}
        for name in groups:
            ratio, weight = at.get(("update_ratio", name)), at.get(("weight_norm", name))
            if ratio is not None and weight is not None:
                there = ~is_absent(values[:, ratio]) & ~is_absent(values[:, weight])
                values[:, ratio] = np.where(there, values[:, ratio] * values[:, weight], framefile.ABSENT)
        return values

    def _add(self, where, values) -> None:
        kinds = np.array(self.kinds)[where]
        for kind, power in (("sum", 2), ("square", 2), ("mean", 1)):
            chosen = np.flatnonzero(kinds == kind)
            there = ~is_absent(values[:, chosen])
            with np.errstate(over="ignore", invalid="ignore"):
                self.total[:, where[chosen]] += np.where(there, values[:, chosen].astype(float) ** power, 0.0)
            self.count[:, where[chosen]] += there.astype(np.uint16)

    def _compare(self, rank: int, where, values) -> None:
        """Distance from the first rank that holds the same whole parameter, in shares of the larger norm."""
        names = list(self.at)
        for quantity in ALIKE:
            chosen = np.array([i for i, at in enumerate(where) if self.kinds[at] == "alike" and names[at][0] == quantity], int)
            if not len(chosen):
                continue
            first, mine = self.first[:, where[chosen]], values[:, chosen]
            there = ~is_absent(first) & ~is_absent(mine)
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                far = np.abs(first.astype(float) - mine) / np.maximum(np.abs(first), np.abs(mine))
            same = (first == mine) | np.isnan(first) & np.isnan(mine) | ~there
            far = np.where(same, 0.0, np.where(np.isnan(far), np.inf, far))
            worst = far.argmax(1)
            distance = far[np.arange(len(far)), worst]
            known = self.apart.setdefault(quantity, {"apart": np.zeros(len(far)), "rank": np.full(len(far), rank), "column": np.zeros(len(far), int),
                                                     "differ": np.zeros(len(far), int)})
            known["differ"] += distance > SAME
            more = distance > known["apart"]
            known["apart"][more], known["rank"][more], known["column"][more] = distance[more], rank, where[chosen][worst[more]]

    def _events(self, rank: int, events) -> None:
        for event in events:
            data = event["data"] if isinstance(event["data"], dict) else {"value": event["data"]}
            key = event["step"], event["kind"], str(data.get("message", data.get("subject", "")))
            known = self.events.get(key)
            if known is not None:
                known["ranks"] += [rank] if len(known["ranks"]) < LISTED and rank not in known["ranks"] else []
            elif len(self.events) < EVENTS:
                self.events[key] = {**data, "ranks": [rank]}

    # ------------------------------------------------------------------ what came of it
    def incomplete(self) -> list[str]:
        """Sharded parameters of which a part was not read: their norms would be too small, so they are left out."""
        return [name for name, group in self.groups.items() if self.held.get(name, 0) < len(group)]

    def evidence(self) -> Evidence:
        evidence = Evidence()
        for quantity, subject, step, text in self.facts:
            evidence.add(quantity, json.loads(text), subject=subject, step=step)
        if self.steps is None:
            return evidence
        lost, totals = set(self.incomplete()), np.zeros(len(self.steps))
        for key, at in self.at.items():
            quantity, subject = key
            values, there = self._values(key, at)
            if self.kinds[at] == "sum" and subject in lost or self.groups and quantity == "grad_norm" and _of_all(subject):
                continue  # a part of the norm only
            if quantity == "grad_norm":
                totals += np.where(there, values.astype(float) ** 2, 0.0)
            for step, value in zip(self.steps[there].tolist(), values[there].tolist()):
                evidence.add(quantity, value, subject=subject, step=step)
        if self.groups and not lost and totals.any() and not any(s.startswith("optimizer ") for _, s in self.at):
            for step, value in zip(self.steps.tolist(), np.sqrt(totals).tolist()):
                evidence.add("grad_norm", value, step=step)
        names = list(self.at)
        for quantity, known in self.apart.items():
            for i, step in enumerate(self.steps.tolist()):
                far = float(known["apart"][i])
                evidence.add("ranks_apart", {"apart": far, "differ": int(known["differ"][i]), "ranks": len(self.ranks), "rank": int(known["rank"][i]),
                                             "parameter": names[known["column"][i]][1] if far else None}, subject=quantity, step=step)
        for (step, kind, _), data in sorted(self.events.items(), key=lambda item: item[0][0] or 0):
            evidence.add(kind, data, subject=data.get("subject") if isinstance(data.get("subject"), str) else "run", step=step or 0)
        return evidence

    def _values(self, key, at: int):
        """One column, and where it was measured."""
        kind, there = self.kinds[at], self.count[:, at] > 0
        if kind in ("alike", "first"):
            return self.first[:, at], ~is_absent(self.first[:, at])
        with np.errstate(invalid="ignore", divide="ignore"):
            if kind == "sum":
                there = self.count[:, at] == len(self.groups[key[1]])  # a part that is missing would make the norm too small
                values = np.sqrt(self.total[:, at])
                weight = self.at.get(("weight_norm", key[1]))
                if key[0] == "update_ratio" and weight is not None:
                    whole = np.sqrt(self.total[:, weight])
                    values, there = np.where(whole > 0, values / whole, 0.0), there & (self.count[:, weight] == self.count[:, at])
                return values, there
            mean = self.total[:, at] / self.count[:, at]
            return (np.sqrt(mean) if kind == "square" else mean), there


def _of_all(subject: str) -> bool:
    """Whether a norm is that over all parameters of an optimizer."""
    return subject == "run" or subject.startswith("optimizer ")


def _over(value, rank: int, world: int):
    """The ranks that hold the parts of a parameter together."""
    ranks = value.get("over") if isinstance(value, dict) else value
    if ranks == "all":
        return range(world)
    return tuple(sorted(int(r) for r in ranks)) if isinstance(ranks, (list, tuple)) and ranks else (rank,)
