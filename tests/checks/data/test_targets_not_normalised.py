"""Raw targets."""

from whyloss.checks.data.targets_not_normalised import TargetsNotNormalised
from whyloss.testing import check_contract, evidence_from, findings

BASE = {"function": 'mse_loss', "reduction": "mean", "module": "", "counts": True, "shape": [64, 10], "target_shape": [64], "producer": 'linear',
        "producer_module": "head", "producer_place": "net.py:20", "weighted": False, "smoothing": 0.0, "value": 2.3, "min": -3.0, "max": 3.0,
        "std": 1.0, "target_min": 0.0, "target_max": 9.0, "target_std": 2.8, "target_mean": 4.5}


def call(calls=3, loss=(2.3, 2.2, 1.9), **changes):
    return evidence_from(loss_call={"train.py:31": [BASE | changes] * calls}, loss=list(loss))


def test_keeps_the_contract():
    check_contract(TargetsNotNormalised)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in TargetsNotNormalised.needs)


def test_suspects_targets_in_the_thousands():
    found, = findings(TargetsNotNormalised(), call(target_mean=1e5, target_std=3e4, std=0.3))

    assert found.cause == "targets-not-normalised" and found.status == "suspected" and found.subject == "target"
    assert str(found.location) == "train.py:31" and found.step == 0


def test_spares_targets_of_order_one_and_trainings_that_learn():
    assert findings(TargetsNotNormalised(), call()) == []
    evidence = call(target_mean=6.0, target_std=22.0, std=0.3)
    evidence.add("learned", {"learned": True, "share": 0.9})
    assert findings(TargetsNotNormalised(), evidence) == []


def test_asks_the_experiment_alone_where_the_training_learned_a_little():
    def learned(share):
        return evidence_from(loss_call={"train.py:31": [BASE | {"target_mean": 1e5, "target_std": 3e4, "std": 0.3}] * 3}, loss=[3.0, 2.0, 1.0],
                             learned=[{"learned": True, "share": share}])
    found, = findings(TargetsNotNormalised(), learned(0.4))

    assert found.asks["unseen"] and abs(found.asks["left"] - 0.6) < 1e-9
    assert findings(TargetsNotNormalised(), learned(0.9)) == []
