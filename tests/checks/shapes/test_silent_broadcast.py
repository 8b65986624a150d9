"""Broadcast inside the model."""

from whyloss.checks.shapes.silent_broadcast import SilentBroadcast
from whyloss.testing import check_contract, evidence_from, findings

FACT = {"operation": "mul", "module": "gate", "shapes": [[16, 1], [16]], "result": [16, 16]}


def model(learned=False, **changes):
    return evidence_from(loss=[1.0, 0.9], broadcast={"net.py:12": [FACT | changes]}, learned=[{"learned": learned, "share": 0.0}])


def test_keeps_the_contract():
    check_contract(SilentBroadcast)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in SilentBroadcast.needs)


def test_suspects_a_column_times_a_row():
    found, = findings(SilentBroadcast(), model())

    assert found.cause == "silent-broadcast" and found.status == "suspected" and found.subject == "gate"
    assert str(found.location) == "net.py:12" and found.step == 0


def test_proves_an_outer_difference_that_no_one_asked_for():
    fact = {"operation": "sub", "module": "", "shapes": [[16], [16, 1]], "result": [16, 16]}

    found, = findings(SilentBroadcast(), evidence_from(loss=[1.0, 0.9], outer={"train.py:30": [fact]}))

    assert found.status == "proven" and found.subject == "sub" and str(found.location) == "train.py:30"


def test_spares_pairwise_differences_and_trainings_that_learn():
    assert findings(SilentBroadcast(), model(shapes=[[16, 1], [1, 16]])) == []
    assert findings(SilentBroadcast(), model(learned=True)) == []


def test_leaves_the_loss_to_its_own_check():
    assert findings(SilentBroadcast(), model(module="")) == []
