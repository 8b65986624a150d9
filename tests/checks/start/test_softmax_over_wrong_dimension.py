"""Softmax over the batch."""

from whyloss.checks.start.softmax_over_wrong_dimension import SoftmaxOverWrongDimension
from whyloss.testing import check_contract, evidence_from, findings

BASE = {"function": 'nll_loss', "reduction": "mean", "module": "", "counts": True, "shape": [64, 10], "target_shape": [64], "producer": 'log_softmax',
        "producer_module": "head", "producer_place": "net.py:20", "weighted": False, "smoothing": 0.0, "value": 2.3, "min": -3.0, "max": 3.0,
        "std": 1.0, "target_min": 0.0, "target_max": 9.0, "target_std": 2.8, "target_mean": 4.5}


def call(calls=3, loss=(2.3, 2.2, 1.9), **changes):
    return evidence_from(loss_call={"train.py:31": [BASE | changes] * calls}, loss=list(loss))


def test_keeps_the_contract():
    check_contract(SoftmaxOverWrongDimension)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in SoftmaxOverWrongDimension.needs)


def test_finds_log_softmax_over_the_batch():
    found, = findings(SoftmaxOverWrongDimension(), call(producer_dim=0, producer_shape=[64, 10], exp_row_sum_error=0.85))

    assert found.cause == "softmax-over-wrong-dimension" and found.status == "proven" and found.step == 0
    assert str(found.location) == "net.py:20" and found.subject == "log_softmax" and found.asks["dim"] == 1


def test_spares_the_class_axis_counted_from_either_end():
    assert findings(SoftmaxOverWrongDimension(), call(producer_dim=-1, producer_shape=[64, 10], exp_row_sum_error=0.0)) == []
    assert findings(SoftmaxOverWrongDimension(), call(producer_dim=1, producer_shape=[64, 10], exp_row_sum_error=0.0)) == []


def test_spares_a_sequence_that_is_flattened_after_the_softmax():
    assert findings(SoftmaxOverWrongDimension(), call(producer_dim=-1, producer_shape=[8, 8, 10], exp_row_sum_error=0.0)) == []


def test_spares_the_second_half_of_a_contrastive_loss():
    assert findings(SoftmaxOverWrongDimension(), call(shape=[64, 64], producer_dim=0, producer_shape=[64, 64], exp_row_sum_error=0.9)) == []


def test_finds_a_softmax_over_the_batch_in_a_loss_written_by_hand():
    row = BASE | {"producer": "softmax", "written": True, "logged": True, "producer_dim": 0, "producer_shape": [64, 10], "row_sum_error": 0.85}

    found, = findings(SoftmaxOverWrongDimension(), evidence_from(loss_written={"train.py:13": [row] * 3}, loss=[4.2, 4.1, 4.0]))

    assert found.cause == "softmax-over-wrong-dimension" and str(found.location) == "net.py:20"


def test_spares_positives_on_the_diagonal_of_a_contrastive_loss_written_by_hand():
    row = BASE | {"shape": [64, 80], "written": True, "diagonal": True, "producer_dim": 0, "producer_shape": [64, 80], "exp_row_sum_error": 0.85}

    assert findings(SoftmaxOverWrongDimension(), evidence_from(loss_written={"train.py:13": [row] * 3}, loss=[4.2, 4.1, 4.0])) == []


def test_spares_a_sequence_whose_classes_are_picked_from_the_last_axis_by_hand():
    row = BASE | {"shape": [24, 16, 21], "target_shape": [24, 16, 1], "written": True, "producer_dim": -1, "producer_shape": [24, 16, 21],
                  "exp_row_sum_error": 0.49}

    assert findings(SoftmaxOverWrongDimension(), evidence_from(loss_written={"train.py:46": [row] * 3}, loss=[3.0, 2.0, 1.5])) == []
