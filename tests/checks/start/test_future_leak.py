"""Positions that see the future."""

from whyloss.checks.start.future_leak import FutureLeak
from whyloss.testing import check_contract, evidence_from, findings


def sequences(**more):
    return evidence_from(sequence_input={"train.py:30": [{"shape": [16, 20]}]}, loss={"run": [3.0, 2.0]},
                         root={"train.py:27": [{"module": "GPT"}]}, **more)


def test_keeps_the_contract():
    check_contract(FutureLeak)


def test_leaves_the_decision_to_the_exact_test_on_a_copy():
    found, = findings(FutureLeak(), sequences())

    assert found.cause == "future-leak" and found.status == "suspected" and found.step == 0
    assert found.asks == {"unseen": True} and str(found.location) == "train.py:27"


def test_is_unexamined_where_no_model_is_fed_sequences():
    assert findings(FutureLeak(), evidence_from(loss={"run": [1.0]})) == []
