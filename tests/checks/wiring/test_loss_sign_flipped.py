"""A loss that is made to rise."""

from whyloss.checks.wiring.loss_sign_flipped import LossSignFlipped
from whyloss.testing import check_contract, evidence_from, findings


def loop(losses, *, call=2.3, maximize=False, log_softmax=False, backwards=("train.py:34",)):
    return evidence_from(
        loss=list(losses), calls={"backward": dict.fromkeys(backwards, 20)},
        optimizer={"SGD": {"stepped": True, "place": "train.py:30", "groups": [{"lr": 0.1, "maximize": maximize}]}},
        loss_call={"train.py:33": [{"function": "cross_entropy", "counts": True, "value": call}] * 20} if call else {},
        normalised_over={"train.py:25": [{"function": "log_softmax", "dim": 1, "shape": [32, 3]}]} if log_softmax else {},
        loss_made={"train.py:27": [{"operation": "mean"}]})


FALLING, RISING = [2.3 - 0.1 * at for at in range(20)], [2.3 + 10 * at for at in range(20)]


def test_keeps_the_contract():
    check_contract(LossSignFlipped)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in LossSignFlipped.needs)


def test_proves_an_optimizer_that_climbs():
    found, = findings(LossSignFlipped(), loop(RISING, maximize=True))

    assert found.cause == "loss-sign-flipped" and found.status == "proven" and found.subject == "SGD"
    assert str(found.location) == "train.py:30" and "maximize=True" in found.measured


def test_suspects_the_negative_of_a_loss_function():
    found, = findings(LossSignFlipped(), loop([-loss for loss in RISING]))

    assert found.status == "suspected" and str(found.location) == "train.py:33" and "-2.3" in found.measured


def test_suspects_log_probabilities_that_are_minimised():
    found, = findings(LossSignFlipped(), loop([-1.10 - 5 * at for at in range(20)], call=None, log_softmax=True))

    assert str(found.location) == "train.py:27" and found.subject == "log_softmax"


def test_spares_a_falling_loss():
    assert findings(LossSignFlipped(), loop(FALLING)) == []


def test_spares_a_reward_that_is_maximised():
    assert findings(LossSignFlipped(), loop(RISING, call=None, maximize=True)) == []


def test_spares_negative_losses_that_are_meant():
    assert findings(LossSignFlipped(), loop([-0.01 * at for at in range(20)], call=None)) == []
    assert findings(LossSignFlipped(), loop([-0.01 * at for at in range(20)], call=None, log_softmax=True)) == []


def test_spares_adversarial_losses():
    assert findings(LossSignFlipped(), loop([-loss for loss in RISING], backwards=("train.py:34", "train.py:44"))) == []


def by_hand(angles, losses):
    return evidence_from(loss=list(losses), calls={"backward": {"train.py:34": 20}}, update_direction=list(angles))


def test_suspects_updates_by_hand_along_the_gradient():
    found, = findings(LossSignFlipped(), by_hand([1.0, 0.9, 0.6], RISING))

    assert found.status == "suspected" and found.asks["uphill"] and str(found.location) == "train.py:34" and "1.00" in found.measured


def test_spares_updates_by_hand_that_go_down_and_rewards_that_rise():
    assert findings(LossSignFlipped(), by_hand([-1.0, -0.9, -0.6], RISING)) == []
    assert findings(LossSignFlipped(), by_hand([1.0, 0.9, 0.6], [-2.3 + 0.1 * at for at in range(20)])) == []


def test_asks_whether_a_loss_by_hand_that_sinks_has_a_bound():
    sinking = [-0.5 * 1.4 ** at for at in range(20)]
    found, = findings(LossSignFlipped(), loop(sinking, call=None))

    assert found.status == "suspected" and found.asks == {"bottomless": True, "unseen": True} and str(found.location) == "train.py:27"


def test_spares_losses_that_sink_little_begin_above_0_or_are_several():
    little, from_above = [-0.5 - 0.05 * at for at in range(20)], [2.0 - 1.5 * at for at in range(20)]
    for losses in (little, from_above):
        assert findings(LossSignFlipped(), loop(losses, call=None)) == []
    assert findings(LossSignFlipped(), loop([-0.5 * 1.4 ** at for at in range(20)], call=None, backwards=("train.py:34", "train.py:40"))) == []
