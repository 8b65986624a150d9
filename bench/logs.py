"""Real logs with their truth: `python bench/logs.py DIR [--list]` reads DIR/manifest.json and prints what `whyloss read` says of each.

right            the label of every run of the entry is among its truths or its accepted labels
confidently wrong  wrong with a confidence of 0.75 or more
distance         share of the run between the step said and the step in the manifest, in the closest of step, epoch and row
"""

import argparse
import json
from pathlib import Path

import numpy as np

from whyloss.diagnosis.reading.run import read_run

CONFIDENT = 0.75


def load(entry, folder):
    """The runs of one entry, as the readers give them."""
    from whyloss.sources.readers.find import read_runs

    return list(read_runs([folder / name for name in entry["files"]]))


def distance(said, truth, series):
    """In shares of the run; the manifest counts in steps, epochs or rows."""
    if said is None or truth is None or series is None or len(series) < 2:
        return None
    i = int(np.argmin(np.abs(series.steps - said)))
    axes = [series.steps, np.arange(len(series), dtype=float)] + [series.epochs] * (series.epochs is not None)
    return min(abs(axis[i] - truth) / (np.ptp(axis) or 1.0) for axis in axes)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--list", action="store_true", help="also print what was said of each")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    entries = json.loads((options.folder / "manifest.json").read_text())
    right = confident = truths = 0
    for entry in entries:
        if options.only not in entry["id"]:
            continue
        accepted, steps = set(entry["truth"]) | set(entry["also_accept"]), ("turning_step", "first_bad_step")
        readings = [read_run(run) for run in load(entry, options.folder)]
        marks = [
            "truth"
            if r.label in entry["truth"]
            else "accepted"
            if r.label in accepted
            else "CONFIDENTLY WRONG"
            if r.confidence >= CONFIDENT
            else "WRONG"
            for r in readings
        ]
        right += all(m in ("truth", "accepted") for m in marks)
        truths += all(m == "truth" for m in marks)
        confident += "CONFIDENTLY WRONG" in marks
        for i, (reading, mark) in enumerate(zip(readings, marks)):
            far = [distance(getattr(reading, s), entry.get(s), reading.judged) for s in steps if s in entry]
            told = "".join("  NO STEP" if d is None else f"  off by {d:.1%}" for d in far)
            also = "+" + ",".join(reading.also) if reading.also else ""
            name, truth = (entry["id"], "/".join(entry["truth"])) if i == 0 else ("", "")
            print(f"{name:26}{truth:34}{reading.label + also:46}{reading.confidence:5.2f}  {mark}{told}")
            if options.list or "WRONG" in mark:
                print("".join(f"      {line}\n" for line in reading.lines()), end="")
    print(f"{right} of {len(entries)} right ({right / len(entries):.1%}), {truths} the first truth itself, {confident} confidently wrong")


if __name__ == "__main__":
    main()
