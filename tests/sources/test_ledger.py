"""What is written to disk while a training runs can be read back, also by another process, also twice."""

import math

import numpy as np
import pytest

from whyloss.errors import NothingLogged
from whyloss.evidence import Evidence
from whyloss.sources.ledger import FrameLedger, Ledger, fullest, ledger_file, read
from whyloss.sources.readers import read_one, read_runs


def evidence(*losses):
    found = Evidence()
    for step, loss in enumerate(losses):
        found.add("loss", loss, subject="train.py:3", step=step)
    return found


def test_observations_come_back_and_facts_are_replaced(tmp_path):
    ledger, known, facts = Ledger(tmp_path), evidence(3.0, math.nan), Evidence()
    facts.add("calls", {"train.py:3": 2}, subject="backward")
    ledger.write(known, facts)
    known.add("loss", 1.0, subject="train.py:3", step=2)
    facts = Evidence()
    facts.add("calls", {"train.py:3": 3}, subject="backward")
    ledger.write(known, facts)

    again = read(ledger.file)
    losses = again.series("loss", "train.py:3").values
    assert losses[0] == 3.0 and math.isnan(losses[1]) and losses[2] == 1.0 and len(losses) == 3
    assert again.series("calls", "backward").values == [{"train.py:3": 3}]


def test_a_torn_file_is_passed_over(tmp_path):
    (tmp_path / "ledger-1.db").write_bytes(b"SQLite format 3\0torn")
    assert fullest(tmp_path) is None
    Ledger(tmp_path).write(evidence(1.0), Evidence())
    assert len(fullest(tmp_path)) == 1


def test_packed_frames_are_read_beside_the_observations_and_by_whyloss_read(tmp_path):
    with FrameLedger(tmp_path / "frames.db") as ledger:
        ledger.columns([("loss", "run"), ("grad_norm", "fc.weight")])
        ledger.observe("learning_rate", 0.1)
        for step in range(4):
            ledger.frame(10 * step, np.array([4.0 - step, math.nan if step == 2 else 0.5], np.float32), 0.1 * step)
    with FrameLedger(ledger.file) as ledger:
        ledger.columns([("loss", "run")])
        ledger.frame(20, np.array([1.5], np.float32), 0.5)

    assert read(ledger.file).series("loss").values == [4.0, 3.0, 1.5] and read(ledger.file).fact("learning_rate") == 0.1
    (run,) = read_one(ledger.file)
    assert run.format == "whyloss ledger" and set(run.series) == {"loss", "grad_norm/fc.weight", "learning_rate"}
    assert run.series["loss"].steps.tolist() == [0, 10, 20] and run.series["grad_norm/fc.weight"].values.tolist() == [0.5, 0.5]
    (only,) = read_one(ledger.file, columns=["loss"])
    assert set(only.series) == {"loss"}


def test_a_ledger_of_frames_is_found_in_a_folder(tmp_path):
    with FrameLedger(ledger_file(tmp_path / "runs" / "a", 1, 2)) as ledger:
        ledger.columns([("loss", "run")])
        for step in range(20):
            ledger.frame(step, np.array([1 / (1 + step)], np.float32), 0.0)

    (run,) = read_runs([tmp_path / "runs"])
    assert len(run.series["loss"]) == 20


def test_a_ledger_killed_before_its_first_frame_is_one_without_any_number(tmp_path):
    FrameLedger(tmp_path / "frames.db").close()
    assert not (tmp_path / "frames.db").exists()
    ledger = FrameLedger(tmp_path / "frames.db")
    ledger.columns([("loss", "run")])
    ledger.flush()

    with pytest.raises(NothingLogged):
        read_one(ledger.file)
    ledger.close()
