"""An overlap of areas that cannot be one."""

from whyloss.checks.generalisation.overlap_wrong import OverlapWrong
from whyloss.testing import check_contract, evidence_from, findings

ONE = {"by": "argmax", "axis": 1, "size": 1, "of": [8, 1, 32, 32], "place": "train.py:31"}
PLAIN = {"how": "overlap", "prediction": [8, 1, 32, 32], "target": [8, 1, 32, 32], "result": [8, 1, 32, 32], "floating": False, "low": 0.0,
         "high": 1.0, "counts": True, "explicit": True, "made": {"by": "threshold", "bound": 0.0, "unit": False, "side": "g"}}


def used(**changes):
    return evidence_from(prediction_used={"train.py:40": [{**PLAIN, **changes}] * 4})


def test_keeps_the_contract():
    check_contract(OverlapWrong)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in OverlapWrong.needs)


def test_proves_argmax_over_one_channel_at_its_line():
    found, = findings(OverlapWrong(), used(made=ONE, high=0.0))

    assert found.cause == "metric-wrong" and found.status == "proven" and found.subject == "metric" and found.step == 0
    assert str(found.location) == "train.py:31" and "one element" in found.measured


def test_proves_one_class_of_such_an_argmax():
    assert findings(OverlapWrong(), used(made={**ONE, "class": True}, low=1.0, high=1.0))


def test_proves_an_argmax_of_one_element_that_goes_to_numpy():
    rows = [{"how": "exported", "prediction": [8, 32, 32], "made": ONE, "floating": False, "low": 0.0, "high": 0.0}]
    assert findings(OverlapWrong(), evidence_from(prediction_used={"train.py:44": rows}))


def test_proves_that_every_picture_is_overlapped_with_every_other():
    found, = findings(OverlapWrong(), used(prediction=[8, 32, 32], result=[8, 8, 32, 32], explicit=False))

    assert "65536 entries for 8192 labels" in found.measured and str(found.location) == "train.py:40"


def test_spares_a_threshold():
    assert findings(OverlapWrong(), used()) == []


def test_spares_one_class_of_several():
    assert findings(OverlapWrong(), used(made={**ONE, "size": 4, "of": [8, 4, 32, 32], "class": True})) == []


def test_spares_the_largest_value_itself():
    assert findings(OverlapWrong(), used(made=ONE, low=-2.5, high=3.0)) == []


def test_spares_weights_that_broadcast():
    assert findings(OverlapWrong(), used(prediction=[8], target=[8, 1], result=[8, 8], counts=False, explicit=False)) == []
