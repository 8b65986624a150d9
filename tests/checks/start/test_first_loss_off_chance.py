"""First loss far below guessing."""

from whyloss.checks.start.first_loss_off_chance import FirstLossOffChance
from whyloss.testing import check_contract, evidence_from, findings

BASE = {"function": 'cross_entropy', "reduction": "mean", "module": "", "counts": True, "shape": [64, 10], "target_shape": [64], "producer": 'linear',
        "producer_module": "head", "producer_place": "net.py:20", "weighted": False, "smoothing": 0.0, "value": 2.3, "min": -3.0, "max": 3.0,
        "std": 1.0, "target_min": 0.0, "target_max": 9.0, "target_std": 2.8, "target_mean": 4.5}


def call(calls=3, loss=(2.3, 2.2, 1.9), **changes):
    return evidence_from(loss_call={"train.py:31": [BASE | changes] * calls}, loss=list(loss))


FRESH = {"shape": [64, 64], "kind": "Linear", "initial": {"zero": False, "norm": 64 * 0.408 * (2 / 64) ** 0.5, "fan_in": 64}}


def start(value, weights=FRESH, entropy=2.28, **changes):
    evidence = call(value=value, loss=(value, value, value), **changes)
    evidence.add("label_entropy", entropy)
    evidence.add("chance", 2.303)
    evidence.add("parameter", weights, subject="head.weight")
    return evidence


def test_keeps_the_contract():
    check_contract(FirstLossOffChance)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in FirstLossOffChance.needs)


def test_suspects_a_leak_when_fresh_weights_know_the_answer():
    found, = findings(FirstLossOffChance(), start(0.09, accuracy=1.0))

    assert found.cause == "target-leak" and found.status == "suspected" and found.step == 0
    assert str(found.location) == "train.py:31" and found.subject == "head"


def test_spares_a_pretrained_model():
    trained = FRESH | {"initial": FRESH["initial"] | {"norm": 12.0}}

    assert findings(FirstLossOffChance(), start(0.09, trained, accuracy=1.0)) == []


def test_spares_he_initialisation():
    assert findings(FirstLossOffChance(), start(3.6, accuracy=0.1)) == []


def test_spares_a_skewed_first_batch():
    assert findings(FirstLossOffChance(), start(0.2, entropy=0.2, accuracy=0.95)) == []
