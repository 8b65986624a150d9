"""How a run goes on, from what its ledger says and from whether its process is still there."""

import socket
import time
from dataclasses import dataclass

from whyloss.sources import frames

STALE = 60.0     # seconds without a word after which a run is not simply called running
GAPS = 10        # or so many of its own gaps between two frames, where those are longer


@dataclass(frozen=True)
class Condition:
    """kind: waiting, running, silent, finished or stopped; words: the same for people; wrote, began: when, seconds since 1970."""

    kind: str
    words: str
    wrote: float | None = None
    began: float | None = None


def condition(parts, gap: float = 0.0) -> Condition:
    """Of one process's ledger. parts: framefile.Part, the newest last; gap: seconds between two of its frames."""
    if not parts:
        return Condition("waiting", "nothing written yet")
    last, began = parts[-1], parts[0].began
    if last.closed:
        return Condition("finished", "finished", last.wrote, began)
    patience = max(STALE, GAPS * gap)
    quiet = time.time() - last.wrote > patience
    if last.writer.get("host") != socket.gethostname():
        words = f"silent on {last.writer.get('host') or 'another machine'}" if quiet else "running"
        return Condition("silent" if quiet else "running", words, last.wrote, began)
    if not frames.still_runs(last.writer):
        return Condition("stopped", "stopped writing: its process is gone and did not close its ledger", last.wrote, began)
    words = "silent, though its process is there" if quiet else "running"
    return Condition("silent" if quiet else "running", words, last.wrote, began)


def together(by_rank: dict[int, Condition]) -> Condition:
    """Of a run with several ranks: one that stopped speaks for all while others wait for it."""
    if len(by_rank) == 1:
        return next(iter(by_rank.values()))
    for kind in ("stopped", "silent", "running", "waiting"):
        ranks = [rank for rank, one in by_rank.items() if one.kind == kind]
        if ranks:
            speaks = by_rank[ranks[0]]
            who = "all ranks" if len(ranks) == len(by_rank) else f"rank {ranks[0]}" if len(ranks) == 1 else f"{len(ranks)} of {len(by_rank)} ranks"
            wrote = max((one.wrote for one in by_rank.values() if one.wrote), default=None)
            began = min((one.began for one in by_rank.values() if one.began), default=None)
            return Condition(kind, speaks.words if kind == "running" and len(ranks) == len(by_rank) else f"{who}: {speaks.words}",
                             wrote, began)
    return max(by_rank.values(), key=lambda one: one.wrote or 0.0)
