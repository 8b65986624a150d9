"""Is a ledger readable, and how much is missing, after a kill -9 at a random moment?

    python bench/kills.py [--kills 200] [--seed 0]

A process writes frames, events and facts and is killed; its ledger is opened, checked by SQLite's own integrity_check and compared
with what the process had handed over by then (it notes each frame in shared memory). Files are continued five times before the
next one begins, so that the ledger of a killed process is resumed too; some are so small that thinning is always under way.
Prints a table; exit status 1 if a ledger could not be read or more than a second is missing.
"""

import argparse
import mmap
import os
import random
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
from whyloss.sources import framefile  # noqa: E402
from whyloss.sources.frames import FrameLedger  # noqa: E402

MARK = struct.Struct("<qdd")   # newest step handed over, when, and when the process handed over its first
# name -> columns of a frame, seconds between two frames, frames between two events, size limit in MiB, seconds until the kill
KINDS = {
    "20 columns": (20, 0.0005, 10**9, 64, (0.0, 2.5)),
    "300 columns, 1 MiB": (300, 0.002, 300, 1, (0.0, 2.5)),
    "3000 columns, 16 MiB": (3000, 0.005, 10**9, 16, (0.0, 2.5)),
    "a frame in 0.4 s": (300, 0.4, 7, 64, (0.0, 3.0)),
    "killed as it opens": (300, 0.002, 3, 64, (0.05, 0.45)),
}


def write(file: Path, mark: Path, kind: str) -> None:
    """The process that is killed: write until then."""
    columns, pause, events, limit, _ = KINDS[kind]
    held = mmap.mmap(os.open(mark, os.O_RDWR), MARK.size)
    ledger = FrameLedger(file, size_limit=limit * 2**20)
    ledger.columns([("loss", "run"), *[("grad_norm", f"layers.{i}.weight") for i in range(columns - 1)]])
    before = framefile.last_frame(file) if file.exists() else None
    values, step, began = np.ones(columns, np.float32), before[0] if before else 0, time.monotonic()
    while ledger.problem is None:
        step += 1
        now = time.monotonic()
        held[:] = MARK.pack(step, now, began)
        values[0] = step
        ledger.frame(step, values, now)
        if step % events == 0:
            ledger.event(step, "alert", {"message": f"step {step}"})
            ledger.observe("note", step, step=step)
        time.sleep(pause)
    print(ledger.problem, file=sys.stderr)


def kill_once(file: Path, kind: str, chance: random.Random, longest: float = 3.0) -> dict:
    """Start a writer, kill it, open what it left. -> readable, lost (seconds), frames, size (bytes), why"""
    mark = file.with_suffix(".mark")
    mark.write_bytes(bytes(MARK.size))
    process = subprocess.Popen([sys.executable, __file__, "--write", str(file), str(mark), kind])
    while kind != "killed as it opens" and process.poll() is None and not struct.unpack_from("<q", mark.read_bytes())[0]:
        time.sleep(0.002)
    time.sleep(min(longest, chance.uniform(*KINDS[kind][4])))
    process.send_signal(signal.SIGKILL)
    ended = process.wait()
    step, when, began = MARK.unpack(mark.read_bytes())
    found = {"readable": False, "lost": 0.0, "frames": 0, "size": sum(p.stat().st_size for p in file.parent.glob(file.name + "*")), "why": ""}
    if not step and not file.exists():
        return {**found, "readable": ended == -signal.SIGKILL}  # killed before it came to open one
    try:
        last = framefile.last_frame(file)
        frames = framefile.load(file)
        framefile.read_frames(file)
        with framefile.opened(file) as base:
            (state,) = base.execute("PRAGMA integrity_check").fetchone()
        sound = not len(frames) or (frames.values[:, 0] == frames.steps).all() and frames.steps[0] == 1
        whole = ended == -signal.SIGKILL and state == "ok" and bool(sound)
        # a ledger without any frame is one whose writer was killed before its first one
        lost = when - max(began, last[1]) if last and step and last[0] <= step else 0.0 if step <= 1 else float("inf")
        found.update(readable=whole, lost=lost, frames=len(frames))
        found["why"] = "" if whole else f"ended {ended}, {state}, first step {frames.steps[:1]}"
    except (sqlite3.Error, OSError, ValueError) as error:
        found["why"] = str(error)
    return found


def series(kills: int, seed: int, kinds=tuple(KINDS), longest: float = 3.0) -> dict[str, list[dict]]:
    """Kind -> what each kill left."""
    chance, found = random.Random(seed), {kind: [] for kind in kinds}
    with tempfile.TemporaryDirectory(prefix="whyloss-bench-") as folder:
        for number in range(kills):
            kind = kinds[number % len(kinds)]
            file = Path(folder, f"{kinds.index(kind)}-{number // len(kinds) // 5}", "frames.db")
            file.parent.mkdir(exist_ok=True)
            found[kind].append(kill_once(file, kind, chance, longest))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.write:
        write(Path(chosen.write[0]), Path(chosen.write[1]), chosen.write[2])
        return 0
    found = series(chosen.kills, chosen.seed)
    print(f"{'':<22}{'kills':>6}{'unreadable':>12}{'lost s, mean':>14}{'worst':>7}{'frames':>8}{'largest KiB':>13}")
    for kind, rows in [*found.items(), ("all", [one for kept in found.values() for one in kept])]:
        if rows:
            bad = sum(not row["readable"] for row in rows)
            lost = [row["lost"] for row in rows]
            print(f"{kind:<22}{len(rows):>6}{bad:>12}{np.mean(lost):>14.2f}{max(lost):>7.2f}{max(row['frames'] for row in rows):>8}"
                  f"{max(row['size'] for row in rows) / 1024:>13.0f}")
    for row in found_bad(found):
        print(f"  {row['why'] or row['lost']}")
    return int(bool(found_bad(found)))


def found_bad(found) -> list[dict]:
    return [row for rows in found.values() for row in rows if not row["readable"] or row["lost"] > 1.0]


if __name__ == "__main__":
    sys.exit(main())
