"""What is written to disk while a training runs can be read back, also by another process, also twice."""

import math

from whyloss.evidence import Evidence
from whyloss.sources.ledger import Ledger, fullest, read


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
