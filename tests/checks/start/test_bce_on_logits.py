"""Values clamped into range for binary cross-entropy."""

from whyloss.checks.start.bce_on_logits import BceOnLogits
from whyloss.testing import check_contract, evidence_from, findings

BASE = {"function": 'binary_cross_entropy', "reduction": "mean", "module": "", "counts": True, "shape": [64, 10], "target_shape": [64],
        "producer": 'clamp',
        "producer_module": "head", "producer_place": "net.py:20", "weighted": False, "smoothing": 0.0, "value": 2.3, "min": -3.0, "max": 3.0,
        "std": 1.0, "target_min": 0.0, "target_max": 9.0, "target_std": 2.8, "target_mean": 4.5}


def call(calls=3, loss=(2.3, 2.2, 1.9), **changes):
    return evidence_from(loss_call={"train.py:31": [BASE | changes] * calls}, loss=list(loss))


def test_keeps_the_contract():
    check_contract(BceOnLogits)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in BceOnLogits.needs)


def test_suspects_values_cut_at_zero():
    found, = findings(BceOnLogits(), call(min=0.0, max=1.0, std=0.4))

    assert found.cause == "bce-on-logits" and found.status == "suspected"
    assert str(found.location) == "net.py:20" and found.subject == "head" and found.step == 0


def test_spares_a_sigmoid_with_a_narrow_clamp():
    assert findings(BceOnLogits(), call(min=0.31, max=0.62, std=0.1)) == []


def test_spares_a_training_that_learns():
    evidence = call(min=0.0, max=1.0, std=0.4)
    evidence.add("learned", {"learned": True, "share": 0.9})

    assert findings(BceOnLogits(), evidence) == []


def test_proves_logarithms_of_numbers_that_are_no_probabilities():
    row = {"function": "binary_cross_entropy", "written": True, "counts": True, "shape": [30, 1], "producer": "linear", "producer_module": "fc2",
           "min": -0.4, "max": 0.9, "std": 0.3}
    found, = findings(BceOnLogits(), evidence_from(loss_written={"a.py:18": [row]}, loss=[1.0]))
    assert found.status == "proven" and found.subject == "fc2"


def test_reads_the_refusal_of_torch():
    raised = {"type": "RuntimeError", "message": "all elements of input should be between 0 and 1", "place": "a.py:9"}
    found, = findings(BceOnLogits(), evidence_from(raised=[raised], loss=[0.7]))
    assert found.status == "proven" and str(found.location) == "a.py:9"


def test_spares_a_clamp_behind_a_sigmoid():
    row = {"function": "binary_cross_entropy", "counts": True, "shape": [30, 1], "producer": "clamp", "producer_module": "", "cut_from": "sigmoid",
           "min": 0.0, "max": 1.0, "std": 0.4}
    assert findings(BceOnLogits(), evidence_from(loss_call={"a.py:18": [row]}, loss=[1.0])) == []
