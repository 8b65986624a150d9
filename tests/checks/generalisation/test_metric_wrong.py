"""A score that cannot be one."""

from whyloss.checks.generalisation.metric_wrong import MetricWrong
from whyloss.testing import check_contract, evidence_from, findings

PLAIN = {"prediction": [8], "target": [8], "result": [8], "made": {"by": "argmax", "axis": 1, "size": 10, "of": [8, 10]}, "floating": False,
         "whole": True, "equal": 0.5, "low": 0.0, "high": 9.0, "target_low": 0.0, "target_high": 9.0, "explicit": False}


def compared(**changes):
    return evidence_from(comparison={"train.py:40": [{**PLAIN, **changes}] * 4})


def test_keeps_the_contract():
    check_contract(MetricWrong)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in MetricWrong.needs)


def test_proves_that_every_pair_is_counted():
    found, = findings(MetricWrong(), compared(prediction=[8, 1], result=[8, 8], made={"by": "threshold", "bound": 0.0, "unit": False, "side": "g"}))

    assert found.cause == "metric-wrong" and found.status == "proven" and found.step == 0
    assert str(found.location) == "train.py:40" and "64 comparisons for 8 labels" in found.measured


def test_proves_argmax_over_one_logit():
    found, = findings(MetricWrong(), compared(made={"by": "argmax", "axis": 1, "size": 1, "of": [8, 1]}))

    assert "one element" in found.measured and found.subject == "metric"


def test_proves_a_probability_compared_with_zero():
    found, = findings(MetricWrong(), compared(made={"by": "threshold", "bound": 0.0, "unit": True, "side": "g"}))

    assert "0" in found.measured


def test_proves_raw_outputs_compared_with_labels():
    found, = findings(MetricWrong(), compared(made={}, floating=True, whole=False, equal=0.0))

    assert "none of them equal" in found.measured


def test_spares_a_plain_comparison():
    assert findings(MetricWrong(), compared()) == []


def test_spares_top_k_against_a_column():
    top = {"by": "topk", "axis": 1, "size": 10, "of": [8, 10]}
    assert findings(MetricWrong(), compared(prediction=[8, 5], target=[8, 1], result=[8, 5], made=top)) == []


def test_spares_every_pair_on_purpose():
    assert findings(MetricWrong(), compared(prediction=[8, 1], target=[1, 8], result=[8, 8], explicit=True)) == []


def test_spares_a_threshold_on_logits():
    assert findings(MetricWrong(), compared(made={"by": "threshold", "bound": 0.0, "unit": False, "side": "g"})) == []
