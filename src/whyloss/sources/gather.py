"""The ranks' files -> what they have in common and where they part. Needs no torch and runs no collective.

Files are read one after another and folded into one small state, so that memory depends on one rank's evidence and not on
how many ranks there are.
"""

import json
import math
import os
import re
import socket
import sqlite3
import time
from pathlib import Path

import numpy as np

from whyloss.evidence import Evidence

SECONDS = 30.0     # rank 0 waits so long for the others' files
UNBORN = 8.0       # and so long for one that never showed up
SAME = 1e-7        # relative distance up to which two ranks hold the same numbers
LISTED = 16        # ranks named in a fact

_VECTORS = ("rank_weights", "rank_gradients", "rank_step_gradients", "rank_alone")
_WANTED = ("rank_replica", *_VECTORS, "rank_batch", "rank_statistics", "calls", "raised")


def gather(folder: Path, evidence: Evidence, seconds: float = SECONDS) -> None:
    """Wait for the other ranks' files and add what they say together, as quantities `ranks...`; nothing where there is one rank."""
    me = evidence.fact("rank")
    if not me or me["world"] < 2:
        return
    absent = wait(Path(folder), me["world"], seconds)
    fold = Fold()
    for file in sorted(Path(folder).glob("rank-*.db"), key=_rank_of):
        try:
            fold.read(_rank_of(file), file)
        except (sqlite3.Error, ValueError, KeyError) as error:
            absent[_rank_of(file)] = f"its file cannot be read: {error}"
    unread = {rank: why for rank, why in absent.items() if rank not in fold.seen}
    evidence.add("ranks_heard", {"world": me["world"], "heard": len(fold.seen), "absent": {str(r): unread[r] for r in sorted(unread)[:LISTED]},
                                 "unfinished": {str(r): why for r, why in sorted(absent.items())[:LISTED] if r in fold.seen}})
    if len(fold.seen) > 1:
        fold.write(evidence)


def wait(folder: Path, world: int, seconds: float) -> dict[int, str]:
    """Until every rank's file is complete, its process is gone, or the time is over. -> rank: why it is not complete."""
    began = time.monotonic()
    gone: dict[int, float] = {}
    while True:
        now = time.monotonic()
        open_ = {}
        for rank in range(world):
            if (folder / f"rank-{rank:05d}.done").exists():
                continue
            state = _state(folder / f"rank-{rank:05d}.pid")
            if state == "gone":
                gone.setdefault(rank, now)
            open_[rank] = state
        waiting = [r for r, state in open_.items() if state == "alive" or state == "unborn" and now - began < UNBORN
                   or state == "gone" and now - gone[r] < 0.5]
        if not waiting or now - began >= seconds:
            words = {"alive": f"it had not ended {seconds:g} s after rank 0", "gone": "its process ended without finishing its file",
                     "unborn": "it left no sign of itself here: another host without a shared folder, or it never trained"}
            return {rank: words[state] for rank, state in open_.items()}
        time.sleep(0.05)


def _state(file: Path) -> str:
    """alive, gone (its process is no more) or unborn (it never wrote)."""
    try:
        host, pid, _world = file.read_text().split()
        if host == socket.gethostname():
            os.kill(int(pid), 0)
            if _ended(Path(f"/proc/{pid}/stat")):
                return "gone"
    except ProcessLookupError:
        return "gone"
    except PermissionError:
        return "alive"
    except (OSError, ValueError):
        return "unborn"
    return "alive"


def _ended(file: Path) -> bool:
    """Whether a process is over and only its parent has not looked yet."""
    try:
        return file.read_text().rsplit(")", 1)[1].split()[0] in ("Z", "X")
    except (OSError, IndexError):
        return False


def _rank_of(file: Path) -> int:
    return int(re.search(r"rank-(\d+)", file.name)[1])


class Fold:
    """What the ranks read so far say together. The first rank that holds a replica is what the others are compared with."""

    def __init__(self) -> None:
        self.seen: list[int] = []
        self.replicas: dict[str, dict] = {}
        self.vectors: dict[tuple, dict] = {}
        self.batches: dict[tuple, dict] = {}
        self.reference: dict[tuple, dict] = {}     # (layer, n) -> the first rank's statistics
        self.statistics: dict[str, dict] = {}      # layer -> the rank that is farthest from the first
        self.calls: dict[tuple, dict] = {}
        self.raised: dict[int, dict] = {}

    def read(self, rank: int, file: Path, after: int = 0) -> None:
        """One rank's file, row by row. after: only what was written after this row, as a resumed run counts anew"""
        base = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
        apart: dict[str, list] = {}
        try:
            final = base.execute("SELECT count(*) FROM latest").fetchone()[0] == 0
            mine: dict[str, dict] = {}
            for subject, value in self._rows(base, ("rank_replica",), final, after):
                mine[subject] = json.loads(value)
            for name, fact in mine.items():
                self._replica(name, fact)
            for table in ("observation", "latest"):
                marks = ",".join("?" * len(_WANTED))
                for quantity, subject, step, text in base.execute(
                        f"SELECT quantity, subject, step, value FROM {table} WHERE rowid > ? AND quantity IN ({marks}) ORDER BY rowid",
                        (after, *_WANTED)):
                    self._row(rank, quantity, subject, step, json.loads(text), mine, apart)
        finally:
            base.close()
        for layer, rows in apart.items():
            self._farthest(rank, layer, rows)
        self.seen.append(rank)

    @staticmethod
    def _rows(base, quantities, final, after):
        table, marks = "observation" if final else "latest", ",".join("?" * len(quantities))
        return base.execute(f"SELECT subject, value FROM {table} WHERE rowid > ? AND quantity IN ({marks}) ORDER BY rowid", (after, *quantities))

    def _replica(self, name: str, fact: dict) -> None:
        """Sums and extremes of the ranks' own counts."""
        known = self.replicas.setdefault(name, {**fact, "ranks": 0, "bypassed": {}, "most_alone": 0, "least_reduced": math.inf,
                                                "least_syncs": math.inf, "averaged": 0, "by_hand": 0, "unsynced": 0, "distrusted": False})
        if fact["group"] != known["group"]:
            return  # another group's replica of the same name
        known["ranks"] += 1
        for count in ("averaged", "by_hand", "unsynced"):
            known[count] += fact[count]
        known["most_alone"] = max(known["most_alone"], fact["alone"])
        known["least_reduced"], known["least_syncs"] = min(known["least_reduced"], fact["reduced"]), min(known["least_syncs"], fact["syncs"])
        known["distrusted"] |= not fact["trusted"]
        for place, count in fact["bypassed"].items():
            known["bypassed"][place] = known["bypassed"].get(place, 0) + count

    def _row(self, rank, quantity, subject, step, value, mine, apart) -> None:
        if quantity == "calls":
            for place, count in value.items():
                self.calls.setdefault((subject, place), {}).setdefault(count, []).append(rank)
        elif quantity == "raised":
            self.raised.setdefault(rank, value)
        elif quantity == "rank_statistics":
            apart.setdefault(subject, []).append((step, value))
        elif subject in mine and mine[subject]["group"] == self.replicas.get(subject, {}).get("group"):
            if quantity in _VECTORS:
                self._vector(rank, (quantity, subject, step), value)
            elif quantity == "rank_batch":
                self._batch(rank, (subject, step), value)

    def _vector(self, rank: int, key: tuple, value: dict) -> None:
        """Distance from the first rank's numbers. values: (tensors, [norm, a, b])"""
        numbers = np.asarray(value["values"], dtype=float).reshape(-1, 3)
        known = self.vectors.get(key)
        if known is None:
            self.vectors[key] = {"first": numbers, "ranks": 1, "apart": 0.0, "differ": 0, "rank": rank, "at": None, "from": rank,
                                 "steps": [value["steps"], value["steps"]], "rates": [value.get("rates"), None]}
            return
        known["ranks"] += 1
        if numbers.shape != known["first"].shape:
            distance, worst = math.inf, None
        else:
            with np.errstate(invalid="ignore", over="ignore"):
                gaps = ((numbers[:, 1:] - known["first"][:, 1:]) ** 2).mean(1)
                size = max((known["first"][:, 0] ** 2).sum(), (numbers[:, 0] ** 2).sum())
                distance = float(np.sqrt(gaps.sum() / size)) if size > 0 else 0.0
            if math.isnan(distance):
                both = np.isnan(numbers).any() and np.isnan(known["first"]).any()
                distance = 0.0 if both else math.inf
            worst = int(np.nanargmax(gaps)) if len(gaps) and not np.isnan(gaps).all() else None
        known["differ"] += distance > SAME
        known["steps"][1] = value["steps"] if distance > known["apart"] or known["ranks"] == 2 else known["steps"][1]
        if distance > known["apart"]:
            known.update(apart=distance, rank=rank, at=worst)
        if value.get("rates") != known["rates"][0]:
            known["rates"][1] = value.get("rates")

    def _batch(self, rank: int, key: tuple, value: dict) -> None:
        """How many ranks hold the very same samples."""
        known = self.batches.setdefault(key, {"ranks": 0, "alike": {}, "size": value["size"], "loader": value.get("loader"),
                                              "place": value.get("place"), "losses": {}})
        known["ranks"] += 1
        same = known["alike"].setdefault(value["rows"], [])
        if len(same) < 4096:
            same.append(rank)
        known["losses"].setdefault(repr(value["loss"]), 0)

    def _farthest(self, rank: int, layer: str, rows: list) -> None:
        """Does this rank normalise with another mean or variance than the first, step after step?"""
        differences, logs, size = [], [], 0
        for step, value in rows:
            mean, var = np.asarray(value["mean"]), np.maximum(np.asarray(value["var"]), 1e-12)
            reference = self.reference.get((layer, step))
            if reference is None:
                self.reference[(layer, step)] = {"mean": mean, "var": var}
            elif reference["mean"].shape == mean.shape:
                spread = np.sqrt((var + reference["var"]) / 2 + (mean - reference["mean"]) ** 2 / 4)
                differences.append((mean - reference["mean"]) / spread)
                logs.append(np.log(var / reference["var"]))
                size = value["size"]
        if len(differences) < 8:
            return
        table = np.stack(differences)                      # (steps, channels)
        average = table.mean(0)
        error = table.std(0, ddof=1) / math.sqrt(len(table)) + 1e-12
        effect = float(np.sqrt((average ** 2).mean()))     # in standard deviations of the layer's input
        chance = float(np.sqrt((error ** 2).mean()))       # what the noise of the batches gives
        # as often on the same side as chance would have it? the share of channels whose mean difference is beyond 4 standard errors
        share = float((np.abs(average) > 4 * error).mean())
        known = self.statistics.get(layer)
        if known is None or effect > known["effect"]:
            self.statistics[layer] = {"rank": rank, "effect": effect, "chance": chance, "share": share, "steps": len(table), "size": size,
                                      "channels": int(table.shape[1])}

    # ------------------------------------------------------------------ what was found
    def write(self, evidence: Evidence) -> None:
        """The state as observations of the run."""
        evidence.add("ranks", {"heard": len(self.seen), "first": self.seen[:LISTED]})
        for name, fact in self.replicas.items():
            names = fact.pop("names", [])
            fact["bypassed"] = dict(sorted(fact["bypassed"].items(), key=lambda item: -item[1])[:LISTED])
            evidence.add("ranks_replica", {k: (None if v == math.inf else v) for k, v in fact.items()}, subject=name)
            for (quantity, subject, step), known in sorted(self.vectors.items(), key=lambda item: item[0][2]):
                if subject == name and known["ranks"] > 1:
                    row = {k: known[k] for k in ("ranks", "apart", "differ", "rank", "from", "steps", "rates")}
                    row["parameter"] = names[known["at"]] if known["at"] is not None and known["at"] < len(names) else None
                    evidence.add(quantity.replace("rank_", "ranks_", 1), row, subject=name, step=step)
        for (subject, step), known in sorted(self.batches.items(), key=lambda item: item[0][1]):
            groups = sorted(known["alike"].items(), key=lambda item: -len(item[1]))
            evidence.add("ranks_batch", {"ranks": known["ranks"], "which": groups[0][1][:LISTED], "alike": len(groups[0][1]), "code": groups[0][0],
                                         "losses": len(known["losses"]), "size": known["size"], "loader": known["loader"],
                                         "place": known["place"]}, subject=subject, step=step)
        for layer, row in self.statistics.items():
            evidence.add("ranks_statistics", row, subject=layer)
        for (kind, place), counts in self.calls.items():
            total = sum(len(r) for r in counts.values())
            if total < len(self.seen):
                counts.setdefault(0, []).extend([r for r in self.seen if not any(r in known for known in counts.values())])
            if len(counts) > 1:
                evidence.add("ranks_calls", {str(count): ranks[:LISTED] for count, ranks in sorted(counts.items())}, subject=f"{kind} {place}")
        for rank, value in sorted(self.raised.items())[:LISTED]:
            evidence.add("ranks_raised", {"rank": rank, **value})
