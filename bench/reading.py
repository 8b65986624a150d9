"""How fast logs are read and judged: 10 million points against polars' reading in the same run, and thousands of small runs of mixed formats.

    python bench/reading.py [--points 10000000] [--runs 5000] [--workers 2]

Times are the best of five, alternating, in processes of their own; memory is the peak of the process.
Needs polars (`whyloss[logs]`) for the first part.
"""

import argparse
import json
import os
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

_MEASURED = """
import sys, time
path, how = sys.argv[1:]
import numpy
if how == "polars":
    import polars
    began = time.perf_counter()
    frame = polars.read_parquet(path) if path.endswith("parquet") else polars.read_csv(path)
    points = frame.height * (frame.width - 1)
else:
    if how == "without polars":
        sys.modules["polars"] = None
    else:
        import polars
    from whyloss.diagnosis.reading.run import read_run
    from whyloss.sources.readers import read_runs
    began = time.perf_counter()
    runs = list(read_runs([path]))
    points = sum(len(s) for run in runs for s in run.series.values())
    for run in runs if how == "judged" else ():
        read_run(run)
seconds = time.perf_counter() - began
# not getrusage: its peak is inherited from the process that started this one
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(seconds, peak / 1024, points)
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--points", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="whyloss-bench-") as folder:
        long_files(Path(folder), chosen.points)
        many_runs(Path(folder, "runs"), chosen.runs, chosen.workers)


def long_files(folder: Path, points: int) -> None:
    """Two curves of half the points each over one step column: plain, with blanks (Lightning), as Parquet, and with a header in mid-file."""
    rows = points // 2
    files = {
        "CSV": folder / "plain.csv",
        "CSV with blanks": folder / "sparse.csv",
        "CSV, header again in the middle": folder / "resumed.csv",
        "Parquet": folder / "plain.parquet",
    }
    write_csv(files["CSV"], rows, every=1)
    write_csv(files["CSV with blanks"], rows, every=10)
    write_csv(files["CSV, header again in the middle"], rows, every=1, header_at=rows // 2)
    try:
        import polars as pl

        pl.read_csv(files["CSV"]).write_parquet(files["Parquet"])
    except ImportError:
        files.pop("Parquet")
    print(
        f"{'file':<34}{'MiB':>6}{'polars s':>10}{'read s':>8}{'ratio':>7}{'and judged s':>14}{'ratio':>7}"
        f"{'polars MiB':>12}{'whyloss MiB':>13}{'without polars s':>18}{'MiB':>7}"
    )
    for name, path in files.items():
        best: dict[str, tuple[float, float]] = {}
        hows = ("polars", "read", "judged") if name != "CSV, header again in the middle" else ("read", "judged")
        for _ in range(5):
            for how in (*hows, *(() if name == "Parquet" or "without polars" in best else ("without polars",))):
                seconds, peak = measured(path, how)
                best[how] = min(best.get(how, (np.inf, 0)), (seconds, peak))
        polars, read, judged, own = (best.get(how, (np.nan, np.nan)) for how in ("polars", "read", "judged", "without polars"))
        print(
            f"{name:<34}{path.stat().st_size / 2**20:>6.0f}{polars[0]:>10.2f}{read[0]:>8.2f}{read[0] / polars[0]:>7.2f}"
            f"{judged[0]:>14.2f}{judged[0] / polars[0]:>7.2f}{polars[1]:>12.0f}{judged[1]:>13.0f}{own[0]:>18.2f}{own[1]:>7.0f}"
        )


def measured(path: Path, how: str) -> tuple[float, float]:
    """(seconds, peak MiB) of reading in a process of its own."""
    done = subprocess.run([sys.executable, "-c", _MEASURED, str(path), how], capture_output=True, text=True, check=True)
    seconds, peak, _ = map(float, done.stdout.split())
    return seconds, peak


def write_csv(path: Path, rows: int, every: int, header_at: int | None = None) -> None:
    """step, loss, val_loss; val_loss in every `every`-th row."""
    rng = np.random.default_rng(0)
    with open(path, "w") as stream:
        stream.write("step,loss,val_loss\n")
        for start in range(0, rows, 100_000):
            if header_at is not None and start <= header_at < start + 100_000:
                stream.write("step,loss,val_loss\n")
            count = min(100_000, rows - start)
            losses = 2.0 / (1 + np.arange(start, start + count) / rows) + 0.1 * rng.random(count)
            stream.write(
                "".join(
                    f"{step},{loss:.8f},{loss * 1.1:.8f}\n" if step % every == 0 else f"{step},{loss:.8f},\n"
                    for step, loss in enumerate(losses.tolist(), start)
                )
            )


def many_runs(folder: Path, runs: int, workers: int) -> None:
    """Small runs of 200 rows in seven formats, found and read in the processes of a pool."""
    writers = as_csv, as_jsonl, as_trainer_state, as_events, as_text, as_history, as_mlflow
    for number in range(runs):
        place = folder / f"group{number // 100}" / f"run_{number}"
        place.mkdir(parents=True)
        losses = (2.0 / (1 + np.arange(200) / 50) + 0.05 * np.random.default_rng(number).random(200)).tolist()
        writers[number % len(writers)](place, losses)
    from whyloss.diagnosis.reading.many import read_with
    from whyloss.sources.readers import find_logs, read_found, read_runs

    began, spent = time.perf_counter(), time.process_time()
    one = sum(1 for run in read_runs([folder]) if run.series)
    print(f"{runs} small runs: {one} read in {time.perf_counter() - began:.1f} s by one process ({time.process_time() - spent:.1f} s of CPU)")
    began, spent = time.perf_counter(), os.times()
    with ProcessPoolExecutor(workers) as pool:
        both = sum(sum(1 for run in found if run.series) for found in pool.map(read_found, find_logs([folder]), chunksize=32))
    now = os.times()
    used = sum(now[:4]) - sum(spent[:4])
    print(f"{runs} small runs: {both} read in {time.perf_counter() - began:.1f} s by {workers} processes ({used:.1f} s of CPU)")
    began = time.perf_counter()
    with ProcessPoolExecutor(workers) as pool:
        judged = read_with(pool, read_found, find_logs([folder]))
    print(f"{runs} small runs: {len(judged.rows)} read and judged in {time.perf_counter() - began:.1f} s by {workers} processes")


def as_csv(place: Path, losses: list[float]) -> None:
    rows = "".join(f"{i // 50},{i},{loss},{loss + 0.1 if i % 50 == 49 else ''}\n" for i, loss in enumerate(losses))
    (place / "metrics.csv").write_text("epoch,step,train_loss,val_loss\n" + rows)
    (place / "hparams.yaml").write_text("lr: 0.001\nhidden: 64\n")


def as_jsonl(place: Path, losses: list[float]) -> None:
    (place / "log.jsonl").write_text("".join(json.dumps({"step": i, "train": {"loss": loss}}) + "\n" for i, loss in enumerate(losses)))


def as_trainer_state(place: Path, losses: list[float]) -> None:
    history = [{"epoch": i / 50, "loss": loss, "learning_rate": 1e-4, "step": i * 10} for i, loss in enumerate(losses)]
    for part in (100, 200):
        (place / f"checkpoint-{part}").mkdir()
        (place / f"checkpoint-{part}" / "trainer_state.json").write_text(json.dumps({"global_step": part, "log_history": history[:part]}, indent=2))


def as_events(place: Path, losses: list[float]) -> None:
    from whyloss.sources.readers.tensorboard import _crc, _masked

    with open(place / "events.out.tfevents.1700000000.host", "wb") as stream:
        for i, loss in enumerate(losses):
            value = b"\x0a\x04loss\x15" + struct.pack("<f", loss)
            summary = b"\x0a" + bytes([len(value)]) + value
            step = bytes([i & 127 | 128, i >> 7])
            event = b"\x09" + struct.pack("<d", 1.7e9 + i) + b"\x10" + step + b"\x2a" + bytes([len(summary)]) + summary
            size = struct.pack("<Q", len(event))
            stream.write(size + struct.pack("<I", _masked(_crc(size))) + event + struct.pack("<I", _masked(_crc(event))))


def as_text(place: Path, losses: list[float]) -> None:
    (place / "train.log").write_text(
        "".join(f"2026-01-01 10:{i // 60:02}:{i % 60:02},000 INFO step {i}: loss {loss:.4f}, lr 1.0e-03\n" for i, loss in enumerate(losses))
    )


def as_history(place: Path, losses: list[float]) -> None:
    (place / "history.json").write_text(json.dumps({"loss": losses, "val_loss": [loss + 0.1 for loss in losses]}))


def as_mlflow(place: Path, losses: list[float]) -> None:
    base = sqlite3.connect(place / "mlflow.db")
    base.executescript(
        "CREATE TABLE runs (run_uuid, name, lifecycle_stage, start_time); CREATE TABLE params (key, value, run_uuid);"
        "CREATE TABLE metrics (key, value, timestamp, run_uuid, step, is_nan);"
    )
    base.execute("INSERT INTO runs VALUES ('a', 'run', 'active', 0)")
    base.executemany("INSERT INTO metrics VALUES ('loss', ?, 0, 'a', ?, 0)", [(loss, i) for i, loss in enumerate(losses)])
    base.commit()
    base.close()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
