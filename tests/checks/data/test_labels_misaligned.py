"""Labels of other samples."""

from whyloss.checks.data.labels_misaligned import LabelsMisaligned
from whyloss.testing import check_contract, evidence_from, findings

BASE = {"function": 'cross_entropy', "reduction": "mean", "module": "", "counts": True, "shape": [64, 10], "target_shape": [64], "producer": 'linear',
        "producer_module": "head", "producer_place": "net.py:20", "weighted": False, "smoothing": 0.0, "value": 2.3, "min": -3.0, "max": 3.0,
        "std": 1.0, "target_min": 0.0, "target_max": 9.0, "target_std": 2.8, "target_mean": 4.5}


def call(calls=3, loss=(2.3, 2.2, 1.9), **changes):
    return evidence_from(loss_call={"train.py:31": [BASE | changes] * calls}, loss=list(loss))


def tried(learned, passed, **changes):
    evidence = call(label_entropy=2.28, **changes)
    evidence.add("learned", {"learned": learned, "share": 0.0})
    evidence.add("memorised", {"passed": passed})
    return evidence


def test_keeps_the_contract():
    check_contract(LabelsMisaligned)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in LabelsMisaligned.needs)


def test_suspects_labels_that_are_memorised_but_not_learned():
    found, = findings(LabelsMisaligned(), tried(False, True))

    assert found.cause == "labels-misaligned" and found.status == "suspected" and found.subject == "labels"
    assert str(found.location) == "train.py:31" and found.step == 0


def test_spares_a_training_that_learns_and_one_that_cannot_memorise():
    assert findings(LabelsMisaligned(), tried(True, True)) == []
    assert findings(LabelsMisaligned(), tried(False, False)) == []
