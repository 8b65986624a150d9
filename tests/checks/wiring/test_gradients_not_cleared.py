"""Old gradients in new steps."""

from whyloss.checks.wiring.gradients_not_cleared import GradientsNotCleared
from whyloss.testing import check_contract, evidence_from, findings


def steps(tainted, count=40):
    return [{"place": "train.py:24", "held": 4, "tainted": tainted(at)} for at in range(count)]


def loop(tainted):
    return evidence_from(step={"SGD": steps(tainted)}, calls={"backward": {"train.py:23": 40}, "zero": {}})


def test_keeps_the_contract():
    check_contract(GradientsNotCleared)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in GradientsNotCleared.needs)


def test_names_the_backward_that_adds_to_used_gradients():
    found, = findings(GradientsNotCleared(), loop(lambda at: 4 if at else 0))

    assert found.cause == "gradients-not-cleared" and found.status == "proven" and found.subject == "SGD"
    assert str(found.location) == "train.py:23" and found.step == 1
    assert "39 of 40 steps" in found.measured and "called 0 times" in found.measured


def test_finds_a_clear_that_sits_in_the_epoch_loop():
    assert findings(GradientsNotCleared(), loop(lambda at: 4 if at % 10 else 0))


def test_spares_gradients_cleared_before_each_step():
    assert findings(GradientsNotCleared(), loop(lambda at: 0)) == []


def test_spares_a_single_slip():
    assert findings(GradientsNotCleared(), loop(lambda at: 4 if at == 7 else 0)) == []


def gan(leftover):
    rows = [{"place": "train.py:40", "held": 6, "tainted": 0, "leftover": leftover(at)} for at in range(12)]
    return evidence_from(step={"Adam#2": rows + [{"place": "train.py:40", "held": 6, "tainted": 0}] * 80}, calls={"backward": {"train.py:39": 92}})


def test_names_the_optimizer_that_uses_what_another_loss_left():
    found, = findings(GradientsNotCleared(), gan(lambda at: 6 if at else 0))

    assert found.cause == "gradients-not-cleared" and found.status == "proven" and found.subject == "Adam#2" and found.step == 1


def test_spares_a_gan_that_clears_before_its_own_loss():
    assert findings(GradientsNotCleared(), gan(lambda at: 0)) == []
