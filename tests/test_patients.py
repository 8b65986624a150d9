"""The main job end to end, on ordinary scripts in their own styles: the right cause, sure, at the right place; and healthy on each twin."""

import importlib.util
import json
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parent.parent / "bench" / "scoreboard.py"
spec = importlib.util.spec_from_file_location("scoreboard", BENCH)
scoreboard = importlib.util.module_from_spec(spec)
spec.loader.exec_module(scoreboard)

# forgotten step, rate zero, 1e-7 and far too high, a frozen layer, detach, all zero, sigmoid stack, dead ReLUs, re-sorted labels,
# NaN from log(softmax), no zero_grad, an out-of-place update, a replaced model, a term by autograd.grad without its graph,
# attention over the samples, gradients cut by hand
CASES = ["O01_", "L01_", "L02_", "Lhib_", "G00_", "G01_", "I01_", "A01_", "A03_", "D02b_", "N01_", "O02_", "O09_", "O04_", "X14_", "XS3_", "GC3_"]
# time in front of the samples, one function that trains and scores, a target network
LOOK_ALIKES = ["H94_", "H96_", "H97_"]


def folder(prefix: str) -> Path:
    return next(f for f in sorted(scoreboard.PATIENTS.iterdir()) if f.name.startswith(prefix))


@pytest.mark.parametrize("prefix", CASES)
def test_the_right_cause_is_named_first_sure_and_placed(prefix):
    where = folder(prefix)
    row = scoreboard.run_case(json.loads((where / "patient.json").read_text()), "sick", where / "sick.py", 0, 240)
    assert row["error"] == ""
    assert row["right"], f"{row['first']} ({row['status']})"
    assert row["place"], f"{row['location']} {row['subject']}"


@pytest.mark.parametrize("prefix", CASES + LOOK_ALIKES)
def test_the_repaired_twin_is_healthy(prefix):
    where = folder(prefix)
    row = scoreboard.run_case(json.loads((where / "patient.json").read_text()), "healthy", where / "healthy.py", 0, 240)
    assert row["error"] == ""
    assert row["verdict"] == "healthy" and not row["alarm"], f"{row['verdict']}: {row['first']} ({row['status']})"
