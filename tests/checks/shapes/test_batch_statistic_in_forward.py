"""A statistic over the batch in a picture classifier that learns."""

from whyloss.checks.shapes.batch_statistic_in_forward import BatchStatisticInForward
from whyloss.testing import check_contract, evidence_from, findings

PICTURES = {"layer": {"conv": [{"kind": "Conv2d", "in": "(64, 1, 8, 8)", "out": "(64, 8, 8, 8)"}]},
            "input": {"train.py:42": [{"shape": [64, 1, 8, 8], "floating": True}]},
            "loss_call": {"train.py:43": [{"shape": [64, 10], "classes": 10}]}}


def test_keeps_the_contract():
    check_contract(BatchStatisticInForward)


def test_leaves_the_decision_to_the_exact_test_on_a_copy():
    found, = findings(BatchStatisticInForward(), evidence_from(**PICTURES))

    assert found.cause == "samples-mixed" and found.status == "suspected" and found.asks == {"unseen": True}


def test_spares_batch_norm_without_running_statistics_and_whatever_has_no_class_a_picture():
    untracked = evidence_from(**PICTURES, batch_norm={"norm": [{"tracked": False}]})
    other = evidence_from(**{**PICTURES, "loss_call": {"train.py:43": [{"shape": [32, 10], "classes": 10}]}})

    assert findings(BatchStatisticInForward(), untracked) == [] and findings(BatchStatisticInForward(), other) == []


def test_asks_for_harm_where_the_samples_are_no_pictures():
    rows = {"layer": {"gru": [{"kind": "GRU", "in": "(30, 8, 8)", "out": "(30, 8, 48)"}]}, "input": {"train.py:42": [{"shape": [30, 8, 8]}]},
            "loss_call": {"train.py:43": [{"shape": [30, 10], "classes": 10}]}}
    found, = findings(BatchStatisticInForward(), evidence_from(**rows))

    assert found.asks == {"unseen": True, "harm": True}
