"""Prediction and target broadcast."""

from whyloss.checks.start.loss_broadcasts import LossBroadcasts
from whyloss.testing import check_contract, evidence_from, findings

BASE = {"function": 'mse_loss', "reduction": "mean", "module": "", "counts": True, "shape": [64, 10], "target_shape": [64], "producer": 'linear',
        "producer_module": "head", "producer_place": "net.py:20", "weighted": False, "smoothing": 0.0, "value": 2.3, "min": -3.0, "max": 3.0,
        "std": 1.0, "target_min": 0.0, "target_max": 9.0, "target_std": 2.8, "target_mean": 4.5}


def call(calls=3, loss=(2.3, 2.2, 1.9), **changes):
    return evidence_from(loss_call={"train.py:31": [BASE | changes] * calls}, loss=list(loss))


def test_keeps_the_contract():
    check_contract(LossBroadcasts)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in LossBroadcasts.needs)


def test_finds_a_column_against_a_row():
    found, = findings(LossBroadcasts(), call(shape=[34, 1], target_shape=[34]))

    assert found.cause == "loss-broadcasts" and found.status == "proven" and found.subject == "loss" and found.step == 0
    assert str(found.location) == "train.py:31" and found.measured == "mse_loss: (34, 1) with (34,) gives (34, 34)"


def test_finds_it_in_a_hand_written_difference():
    evidence = evidence_from(loss=[1.0], broadcast={"train.py:32": [{"operation": "sub", "module": "", "shapes": [[34, 1], [34]], "result": [34,
                                                                                                                                             34]}]})
    found, = findings(LossBroadcasts(), evidence)

    assert str(found.location) == "train.py:32"


def test_spares_equal_shapes_and_pairwise_distances():
    assert findings(LossBroadcasts(), call(shape=[34, 1], target_shape=[34, 1])) == []
    pairs = {"operation": "sub", "module": "", "shapes": [[34, 1], [1, 34]], "result": [34, 34]}
    assert findings(LossBroadcasts(), evidence_from(loss=[1.0], broadcast={"train.py:32": [pairs]})) == []


def test_spares_a_single_target_for_all():
    assert findings(LossBroadcasts(), call(shape=[34, 1], target_shape=[1])) == []
