"""Whether a training learned: relative to the best constant prediction, never to a fixed number."""

from whyloss.diagnosis.progress import assess, read_curves, symptoms
from whyloss.testing import evidence_from

CALL = {"counts": True, "function": "cross_entropy", "reduction": "mean", "value": 2.3, "weighted": False}


def with_labels(losses, entropy=2.3):
    return evidence_from(loss=losses, loss_call={"train.py:9": [dict(CALL, value=losses[0])]}, label_entropy=[entropy] * 4, chance=[2.303] * 4)


def test_falling_to_the_entropy_of_skewed_labels_is_not_learning():
    losses = [2.3 - 1.13 * min(1, i / 30) for i in range(200)]
    assert not assess(with_labels(losses, entropy=1.17))["learned"]


def test_falling_below_the_entropy_is_learning():
    assert assess(with_labels([2.3 * 0.98**i for i in range(200)]))["learned"]


def test_four_losses_are_too_few():
    assert assess(evidence_from(loss=[2.3, 2.2, 2.1, 2.0])) is None


def test_a_run_that_ends_in_nan_did_not_learn():
    assert not assess(evidence_from(loss=[2.3 * 0.9**i for i in range(40)] + [float("nan")]))["learned"]


def test_good_accuracy_in_evaluation_counts_even_under_label_noise():
    evidence = with_labels([2.3 - 0.1 * min(1, i / 50) for i in range(200)])
    evidence.add("val_accuracy", 0.97, step=200)
    assert assess(evidence)["learned"]


def test_a_flat_curve_at_the_entropy_is_named_flat_at_baseline():
    evidence = with_labels([2.303 + 0.01 * (-1) ** i for i in range(200)])
    evidence.add("learned", assess(evidence))
    curves = read_curves(evidence)
    assert curves[0].label == "flat-at-baseline"
    assert symptoms(evidence, curves) == ("flat-at-baseline",)


def test_a_falling_penalty_on_the_weights_is_no_learning():
    def rows(values, **facts):
        return [{"value": v, "factor": 1.0, "penalty": False} | facts for v in values]

    fall = [12.0 * 0.7**n for n in range(40)]
    terms = {"a#0": rows([0.8 + 0.006 * n for n in range(40)]), "b#1": rows(fall, penalty=True)}

    assert assess(evidence_from(loss=[0.8 + v for v in fall], loss_term=terms))["learned"] is False
    assert assess(evidence_from(loss=[0.8 + v for v in fall]))["learned"] is True
