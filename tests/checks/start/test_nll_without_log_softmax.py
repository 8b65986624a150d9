"""NLL on logits or probabilities."""

from whyloss.checks.start.nll_without_log_softmax import NllWithoutLogSoftmax
from whyloss.testing import check_contract, evidence_from, findings

BASE = {"function": 'nll_loss', "reduction": "mean", "module": "", "counts": True, "shape": [64, 10], "target_shape": [64], "producer": 'linear',
        "producer_module": "head", "producer_place": "net.py:20", "weighted": False, "smoothing": 0.0, "value": 2.3, "min": -3.0, "max": 3.0,
        "std": 1.0, "target_min": 0.0, "target_max": 9.0, "target_std": 2.8, "target_mean": 4.5}


def call(calls=3, loss=(2.3, 2.2, 1.9), **changes):
    return evidence_from(loss_call={"train.py:31": [BASE | changes] * calls}, loss=list(loss))


def test_keeps_the_contract():
    check_contract(NllWithoutLogSoftmax)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in NllWithoutLogSoftmax.needs)


def test_finds_logits():
    found, = findings(NllWithoutLogSoftmax(), call(exp_row_sum_error=11.0, row_sum_error=1.1))

    assert found.cause == "nll-without-log-softmax" and found.status == "proven" and found.step == 0
    assert str(found.location) == "train.py:31" and not found.asks["probabilities"]


def test_tells_probabilities_from_logits():
    found, = findings(NllWithoutLogSoftmax(), call(exp_row_sum_error=10.0, row_sum_error=1e-7, min=0.0, max=1.0))

    assert found.asks["probabilities"]


def test_spares_log_probabilities_however_they_were_made():
    assert findings(NllWithoutLogSoftmax(), call(producer="log", exp_row_sum_error=1e-6)) == []
    assert findings(NllWithoutLogSoftmax(), call(producer="log_softmax", exp_row_sum_error=0.8)) == []


def test_spares_minus_the_probability_written_by_hand_and_finds_raw_scores():
    row = {"function": "nll_loss", "written": True, "counts": True, "shape": [20, 3], "producer": "softmax", "producer_module": "",
           "min": 0.1, "max": 0.8, "row_sum_error": 0.0, "exp_row_sum_error": 3.0}
    assert findings(NllWithoutLogSoftmax(), evidence_from(loss_written={"a.py:18": [row]}, loss=[-0.3])) == []
    scores = row | {"producer": "linear", "min": -0.4, "row_sum_error": 1.4}
    assert findings(NllWithoutLogSoftmax(), evidence_from(loss_written={"a.py:18": [scores]}, loss=[-0.3]))[0].status == "proven"
    assert findings(NllWithoutLogSoftmax(), evidence_from(loss_written={"a.py:18": [scores | {"diagonal": True}]}, loss=[-0.3])) == []
