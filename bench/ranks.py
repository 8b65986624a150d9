"""Ledgers of many ranks, read and merged: seconds, and the peak memory of the process.

    python bench/ranks.py [--ranks 1024] [--parameters 300] [--frames 60] [--keep FOLDER]

Every rank holds a part of half of the parameters (their norms are partial and have to be added up) and all of the other half;
one rank departs from the others half-way. The table says how far the merged norms are from the true ones and whether that rank,
parameter and step were named. Memory is that of a process that does nothing else; the first row is one with a single rank.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

_MEASURED = """
import json, sys, time
sys.path.insert(0, sys.argv[2])
import numpy as np
from whyloss.sources.merging import merge
before = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
began, spent = time.perf_counter(), time.process_time()
found = merge(sys.argv[1])
seconds, spent = time.perf_counter() - began, time.process_time() - spent
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
norms = {s: c.values for s, c in found.by_subject("grad_norm").items()}
apart = [(step, row["rank"], row["parameter"]) for step, row in zip(found.series("ranks_apart", "weight_norm").steps,
         found.series("ranks_apart", "weight_norm").values) if row["differ"]]
print(json.dumps({"seconds": seconds, "cpu": spent, "peak": peak / 1024, "before": before / 1024, "norms": norms, "apart": apart[:1],
                  "steps": found.series("loss").steps, "merged": found.fact("ranks_merged")}))
"""
SOURCE = str(Path(__file__).resolve().parent.parent / "src")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--parameters", type=int, default=300)
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--keep", type=Path, help="write the ledgers here and leave them")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="whyloss-bench-") as folder:
        print(f"{chosen.parameters} parameters, {chosen.frames} frames a rank")
        print(f"{'ranks':>6}{'MiB on disk':>13}{'seconds':>9}{'CPU s':>7}{'peak MiB':>10}{'own MiB':>9}{'worst error':>13}  departed")
        for ranks in dict.fromkeys((1, min(64, chosen.ranks), chosen.ranks)):
            print(row(Path(chosen.keep or folder, f"{ranks}-ranks"), ranks, chosen.parameters, chosen.frames))


def row(folder: Path, ranks: int, parameters: int, frames: int) -> str:
    """One line of the table."""
    truth, departed = simulate(folder, ranks, parameters, frames)
    size = sum(file.stat().st_size for file in folder.glob("*.db")) / 2**20
    told = json.loads(subprocess.run([sys.executable, "-c", _MEASURED, str(folder), SOURCE], capture_output=True, text=True, check=True).stdout)
    worst = max(np.abs(np.array(values) / truth[name] - 1).max() for name, values in told["norms"].items())
    assert len(told["norms"]) == parameters + 1 and told["merged"]["ranks"] == ranks, told["merged"]
    right = departed is not None and told["apart"] and tuple(told["apart"][0]) == departed
    named = "-" if departed is None else "named" if right else f"MISSED: {told['apart']} for {departed}"
    return (f"{ranks:>6}{size:>13.0f}{told['seconds']:>9.1f}{told['cpu']:>7.1f}{told['peak']:>10.0f}{told['peak'] - told['before']:>9.0f}"
            f"{worst:>13.1e}  {named}")


def simulate(folder: Path, ranks: int, parameters: int, frames: int):
    """Write the ledgers. -> the true gradient norms, and (step, rank, parameter) of the one that departs."""
    sys.path.insert(0, SOURCE)
    from whyloss.sources.frames import FrameLedger, ledger_file

    folder.mkdir(parents=True, exist_ok=True)
    names = [f"layers.{i}.weight" for i in range(parameters)]
    half = parameters // 2
    columns = [("loss", "run"), *[(quantity, name) for quantity in ("grad_norm", "weight_norm", "update_ratio") for name in names]]
    rng = np.random.default_rng(0)
    whole = rng.lognormal(size=(frames, parameters)).astype(np.float32)
    squares = np.zeros((frames, parameters))
    departed = (10 * (frames // 2), ranks // 2 + 1, names[-1]) if ranks > 2 else None
    for rank in range(ranks):
        own = np.random.default_rng(rank + 1)
        part = np.where(np.arange(parameters) < half, own.lognormal(size=(frames, parameters)), whole).astype(np.float32)
        squares += np.where(np.arange(parameters) < half, part.astype(float) ** 2, 0.0)
        with FrameLedger(ledger_file(folder, rank, max(2, ranks)), seconds=1e9) as ledger:
            ledger.columns(columns)
            ledger.observe("rank", {"rank": rank, "world": ranks})
            for name in names[:half]:
                ledger.observe("sharded", {"over": "all"}, name)
            for at in range(frames):
                weights = whole[at].copy()
                if departed and rank == departed[1] and at >= frames // 2:
                    weights[-1] *= 1.01
                ledger.frame(10 * at, np.concatenate([[own.random()], part[at], weights, whole[at] * 1e-3]).astype(np.float32), at)
    truth = np.where(np.arange(parameters) < half, np.sqrt(squares), whole)
    return {"run": np.sqrt((truth ** 2).sum(1)), **dict(zip(names, truth.T))}, departed


if __name__ == "__main__":
    main()
