"""Sorted batches."""

from whyloss.checks.data.single_class_batches import SingleClassBatches
from whyloss.testing import check_contract, evidence_from, findings


def batches(*labels, size=40):
    rows = [{"counts": True, "shape": [size, 10], "target_shape": [size], "labels_seen": hi - lo + 1, "target_min": lo, "target_max": hi} for lo,
            hi in labels]
    return evidence_from(loss_call={"train.py:31": rows})


def test_keeps_the_contract():
    check_contract(SingleClassBatches)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in SingleClassBatches.needs)


def test_finds_batches_of_one_class_each():
    found, = findings(SingleClassBatches(), batches(*[(at // 4, at // 4) for at in range(40)]))

    assert found.cause == "single-class-batches" and found.status == "proven" and str(found.location) == "train.py:31"
    assert "loader" in found.subject and found.step == 0


def test_spares_shuffled_batches():
    assert findings(SingleClassBatches(), batches(*[(0, 9)] * 40)) == []


def test_spares_one_class_in_all_of_the_data_and_tiny_batches():
    assert findings(SingleClassBatches(), batches(*[(3, 3)] * 40)) == []
    assert findings(SingleClassBatches(), batches(*[(at % 10, at % 10) for at in range(40)], size=2)) == []
