"""Single batches with targets of another size, where the loss jumps."""

from whyloss.checks.data.outlying_targets import OutlyingTargets
from whyloss.testing import evidence_from, findings


def evidence(extremes, losses, low=-1.0):
    rows = [{"counts": True, "target_min": low, "target_max": size} for size in extremes]
    return evidence_from(loss=losses, loss_call={"train.py:20": rows})


def test_names_the_steps_of_the_bad_batches():
    found = findings(OutlyingTargets(), evidence([2.0] * 9 + [99.0] + [2.0] * 10, [1.0] * 9 + [500.0] + [1.0] * 10))
    assert [(f.cause, f.step, f.subject, str(f.location)) for f in found] == [("labels-corrupted", 9, "targets", "train.py:20")]
    assert "steps 9" in found[0].measured


def test_spares_heavy_tails_that_the_loss_does_not_feel():
    assert findings(OutlyingTargets(), evidence([2.0] * 9 + [99.0] + [2.0] * 10, [1.0] * 20)) == []


def test_spares_targets_of_one_size():
    assert findings(OutlyingTargets(), evidence([2.0, 3.0] * 10, [1.0, 9.0] * 10)) == []


def test_is_unexamined_with_few_batches():
    assert findings(OutlyingTargets(), evidence([2.0, 99.0], [1.0, 50.0])) == []


def test_takes_a_code_for_missing_for_sure_and_a_rare_reward_of_1_for_a_suspicion():
    sizes = [0.02] * 4 + [30.0] + [0.02] * 4 + [30.0] + [0.02] * 10
    code, = findings(OutlyingTargets(), evidence(sizes, [1.0 if s < 1 else 50.0 for s in sizes], low=0.0))
    reward, = findings(OutlyingTargets(), evidence([min(s, 1.0) for s in sizes], [1.0 if s < 1 else 50.0 for s in sizes], low=0.0))
    assert (code.status, reward.status) == ("proven", "suspected")
