"""ReLU on the logits."""

from whyloss.checks.start.activation_on_logits import ActivationOnLogits
from whyloss.testing import check_contract, evidence_from, findings

BASE = {"function": 'cross_entropy', "reduction": "mean", "module": "", "counts": True, "shape": [64, 10], "target_shape": [64], "producer": 'relu',
        "producer_module": "head", "producer_place": "net.py:20", "weighted": False, "smoothing": 0.0, "value": 2.3, "min": -3.0, "max": 3.0,
        "std": 1.0, "target_min": 0.0, "target_max": 9.0, "target_std": 2.8, "target_mean": 4.5}


def call(calls=3, loss=(2.3, 2.2, 1.9), **changes):
    return evidence_from(loss_call={"train.py:31": [BASE | changes] * calls}, loss=list(loss))


def test_keeps_the_contract():
    check_contract(ActivationOnLogits)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in ActivationOnLogits.needs)


def test_suspects_relu_on_logits():
    found, = findings(ActivationOnLogits(), call(classes=10, min=0.0))

    assert found.cause == "activation-on-logits" and found.status == "suspected" and found.step == 0
    assert str(found.location) == "net.py:20" and found.asks["operation"] == "relu" and found.subject == "head"


def test_spares_plain_logits_and_scaled_tanh():
    assert findings(ActivationOnLogits(), call(classes=10, producer="linear")) == []
    assert findings(ActivationOnLogits(), call(classes=10, producer="mul")) == []


def test_spares_a_regression():
    assert findings(ActivationOnLogits(), call(function="mse_loss")) == []
