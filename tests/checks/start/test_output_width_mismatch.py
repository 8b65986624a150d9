"""Number of outputs."""

from whyloss.checks.start.output_width_mismatch import OutputWidthMismatch
from whyloss.testing import check_contract, evidence_from, findings

BASE = {"function": 'mse_loss', "reduction": "mean", "module": "", "counts": True, "shape": [64, 10], "target_shape": [64], "producer": 'linear',
        "producer_module": "head", "producer_place": "net.py:20", "weighted": False, "smoothing": 0.0, "value": 2.3, "min": -3.0, "max": 3.0,
        "std": 1.0, "target_min": 0.0, "target_max": 9.0, "target_std": 2.8, "target_mean": 4.5}


def call(calls=3, loss=(2.3, 2.2, 1.9), **changes):
    return evidence_from(loss_call={"train.py:31": [BASE | changes] * calls}, loss=list(loss))


def test_keeps_the_contract():
    check_contract(OutputWidthMismatch)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in OutputWidthMismatch.needs)


def test_finds_one_output_for_three_targets():
    found, = findings(OutputWidthMismatch(), call(shape=[64, 1], target_shape=[64, 3]))

    assert found.cause == "output-width-mismatch" and found.status == "proven" and found.step == 0
    assert str(found.location) == "train.py:31" and found.subject == "head"


def test_only_notes_spare_classes():
    found, = findings(OutputWidthMismatch(), call(function="cross_entropy", classes=100, shape=[64, 100], calls=100))

    assert found.status == "note"


def test_spares_equal_widths_and_large_vocabularies():
    assert findings(OutputWidthMismatch(), call(shape=[64, 3], target_shape=[64, 3])) == []
    assert findings(OutputWidthMismatch(), call(function="cross_entropy", classes=50000, shape=[64, 50000], target_max=300.0)) == []


def test_reads_a_label_that_has_no_output():
    raised = {"type": "IndexError", "message": "Target 7 is out of bounds.", "place": "a.py:9"}
    found, = findings(OutputWidthMismatch(), evidence_from(raised=[raised], loss=[0.7]))
    assert found.status == "proven" and str(found.location) == "a.py:9" and "7" in found.measured
