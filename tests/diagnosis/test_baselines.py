"""The number explained."""

import math

from whyloss.diagnosis.baselines import explained
from whyloss.diagnosis.progress import assess, falls_without_bound, read_curves
from whyloss.testing import evidence_from

CALL = {"function": "cross_entropy", "reduction": "mean", "counts": True, "shape": [64, 10], "target_shape": [64], "producer": "linear",
        "classes": 10, "value": 2.4, "min": -3.0, "max": 3.0, "label_entropy": 2.3, "target_mean": 4.5, "target_std": 2.8}


def seen(first, **changes):
    return evidence_from(loss_call={"train.py:31": [CALL | changes | {"value": first}]}, loss=[first, first])


def test_a_uniform_guess():
    assert "uniform guess over 10 classes" in explained(2.303, seen(2.4))


def test_the_shares_of_the_classes_come_before_a_uniform_guess():
    assert "shares of the classes" in explained(1.2, seen(2.4, label_entropy=1.2))


def test_the_floor_of_a_doubled_softmax():
    assert "lowest that a softmax" in explained(1.4612, seen(2.4, producer="softmax"))


def test_pairs_of_a_batch_that_look_alike():
    assert "pairs of the batch" in explained(math.log(64), seen(4.3, shape=[64, 64], classes=64, label_entropy=math.log(64)))


def test_cross_entropy_of_one_output_is_always_zero():
    assert "single output" in explained(0.0, seen(0.0, classes=1, shape=[64, 1]))


def test_constants_of_binary_cross_entropy():
    share = {"function": "binary_cross_entropy", "target_mean": 0.6, "label_entropy": 0.673, "classes": None}
    assert "the constant 0" in explained(60.0, seen(60.0, min=0.0, max=0.0, **share))
    assert "the constant 1" in explained(40.0, seen(40.0, min=1.0, max=1.0, **share))
    assert "0.5 for every sample" in explained(0.6931, seen(0.7, **share | {"label_entropy": 0.6931}))


def test_mean_zero_and_reachable_floor_of_a_squared_error():
    number = {"function": "mse_loss", "target_mean": 5.0, "target_std": 2.0, "classes": None}
    assert "variance of the targets" in explained(4.0, seen(9.0, **number))
    assert "predicting 0" in explained(29.0, seen(30.0, **number))
    assert "lowest that a sigmoid" in explained(20.0, seen(30.0, **number, reach_floor=20.0, producer="sigmoid"))


def test_embeddings_that_are_one_point():
    evidence = evidence_from(loss=[0.9, 0.6931], embedding={"a.py:4": [{"operation": "cdist", "spread": 0.001, "largest": 0.4}]})
    assert "all distances are equal" in explained(0.6931, evidence)


def test_says_nothing_of_other_numbers_and_other_losses():
    assert explained(1.9, seen(2.4)) == ""
    assert explained(0.6931, evidence_from(loss=[0.9, 0.6931])) == ""
    assert explained(2.303, seen(2.4, reduction="sum")) == ""


def test_the_flat_curve_says_it():
    evidence = seen(2.4)
    for step in range(60):
        evidence.add("loss", 2.303, step=step + 2)
    curve = read_curves(evidence)[0]
    assert "uniform guess" in curve.detail


def test_a_loss_without_a_floor_is_not_learned():
    falling = [-0.05 * n * n for n in range(100)]
    assert not assess(evidence_from(loss=falling))["learned"]


def test_a_negative_loss_that_levels_off_is():
    levelled = [-0.9 * (1 - math.exp(-n / 20)) for n in range(100)]
    assert assess(evidence_from(loss=levelled))["learned"]
    import numpy as np
    assert not falls_without_bound(np.array([5.0 - 60.0 * (1 - math.exp(-n / 15)) for n in range(100)]))
