"""What raises an alert, once, and what looks like it and does not."""

import math

import numpy as np
import pytest

from whyloss.alerts import Alarms

RNG = np.random.default_rng(0)


def of_losses(losses, alarms=None, subject="run"):
    alarms = alarms or Alarms()
    return [alert for step, loss in enumerate(losses) for alert in alarms.loss(step, float(loss), subject)]


def of_frames(rows, steps=None):
    """rows: for each sample a dict (quantity, subject) -> value; what is left out was not measured."""
    alarms, columns, found = Alarms(), [], []
    for at, row in enumerate(rows):
        columns += [key for key in row if key not in columns]
        values = np.array([row.get(key, 0.0) for key in columns], np.float32)
        there = np.array([key in row for key in columns])
        found += alarms.frame(steps[at] if steps else at, columns, values, there)
    return found


def kinds(alerts):
    return [alert.kind for alert in alerts]


def falling(count, start=2.3, end=0.1, noise=0.05):
    return end + (start - end) * np.exp(-np.arange(count) / (count / 6)) + noise * RNG.standard_normal(count)


# ---------------------------------------------------------------------- the loss
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_not_finite_is_told_at_once_and_once(value):
    found = of_losses([2.3, 2.2, value, value, 2.0, value])
    assert kinds(found) == ["loss-not-finite"]
    assert found[0].step == 2


def test_a_loss_that_diverges_is_told_once():
    found = of_losses([*falling(200), *np.geomspace(0.2, 1e6, 100)])
    assert kinds(found) == ["loss-diverging"]


def test_a_jump_that_stays_is_told_once():
    found = of_losses([*falling(300), *(2.2 + 0.05 * RNG.standard_normal(150))])
    assert kinds(found) == ["loss-spike"]
    assert 345 <= found[0].step <= 365


@pytest.mark.parametrize("losses", [
    [*falling(200), 50.0, *falling(100, 0.1, 0.1)],                                                # one outlier
    [*falling(200), *falling(60, 2.0, 0.1), *falling(100, 0.1, 0.1)],                              # a restart that recovers
    RNG.standard_normal(600) * 5,                                                                  # policy gradients: around 0
    RNG.standard_cauchy(600),                                                                      # tails without end
    np.cumsum(RNG.standard_normal(600)) * 0.05 + 1.4,                                              # a game of two networks
    np.full(600, 0.0),                                                                             # memorised
    [*falling(300, 2.3, 1e-6, 0), *(1e-6 * np.exp(RNG.standard_normal(300)))],                     # noise at the floor
    np.linspace(1.0, 1.5, 600) + 0.02 * RNG.standard_normal(600),                                  # creeping up
    np.full(600, 3.0e8),
], ids=["outlier", "restart", "signed", "heavy tails", "wandering", "zero", "floor", "creeping", "constant"])
def test_losses_that_only_look_like_it(losses):
    assert of_losses(losses) == []


def test_of_two_losses_in_turn_a_jump_is_no_alert():
    alarms = Alarms()
    found = []
    for step, (a, b) in enumerate(zip([*falling(300), *(2.2 + 0.05 * RNG.standard_normal(150))], falling(450))):
        found += alarms.loss(step, float(a), "run") + alarms.loss(step, float(b), "optimizer 2")
    assert found == []


# ---------------------------------------------------------------------- gradients
def gradients(**norms):
    row = {("grad_norm", f"{name}.weight"): value for name, value in norms.items()}
    return row | {("grad_norm", "run"): math.sqrt(sum(v * v for v in norms.values()))}


def test_a_gradient_that_is_not_finite_is_told_at_once():
    found = of_frames([gradients(a=1, b=1), gradients(a=math.nan, b=1), gradients(a=math.nan, b=math.inf)])
    assert kinds(found) == ["gradient-not-finite"]
    assert "a.weight" in found[0].message and found[0].step == 1


def test_a_gradient_that_was_not_measured_is_none_that_is_not_finite():
    assert of_frames([gradients(a=1), {}, {("loss", "run"): 1.0}]) == []


def test_a_gradient_that_grows_by_decades_is_told_once():
    found = of_frames([gradients(a=x) for x in [*([1.0] * 20), *np.geomspace(1, 1e9, 40)]])
    assert kinds(found) == ["gradient-growing"]


@pytest.mark.parametrize("norms", [np.geomspace(1e-9, 1, 200), [*([1.0] * 20), 1e7, *([1.0] * 20)], np.exp(2 * RNG.standard_normal(300)),
                                   [0.0, *np.geomspace(1e-3, 1, 30)]], ids=["warm-up", "one outlier", "noisy", "zero at first"])
def test_gradients_that_only_look_like_growing(norms):
    assert of_frames([gradients(a=x) for x in norms]) == []


def test_a_layer_that_never_has_a_gradient_is_told_once():
    found = of_frames([gradients(a=0.0, b=1.0)] * 80)
    assert kinds(found) == ["gradient-zero"] and found[0].subject == "a" and found[0].step >= 50
    none = [{("grad_norm", "b.weight"): 1.0, ("gradient_missing", "a.weight"): 1.0, ("grad_norm", "a.weight"): 0.0}] * 80
    assert "no gradient at all" in of_frames(none)[0].message


def test_layers_that_rest_for_a_while_or_start_at_zero_are_no_alert():
    lora = [gradients(a=0.0, b=1.0), *[gradients(a=0.1, b=1.0)] * 99]
    expert = [gradients(a=1.0, b=1.0), *[gradients(a=0.0, b=1.0)] * 99]
    hinge = [gradients(a=0.0, b=0.0)] * 100
    bias = [{("grad_norm", "a.weight"): 1.0, ("grad_norm", "a.bias"): 0.0, ("grad_norm", "b.weight"): 1.0}] * 100
    for rows in (lora, expert, hinge, bias):
        assert of_frames(rows) == []


def test_ten_samples_in_a_row_at_the_start_are_too_few():
    assert of_frames([gradients(a=0.0, b=1.0)] * 20) == []


# ---------------------------------------------------------------------- units, updates, rates
def test_a_layer_whose_units_die_is_told_once():
    rows = [{("dead_share", "1"): share} for share in [0.05] * 10 + list(np.linspace(0.05, 1, 20)) + [1.0] * 10]
    assert kinds(of_frames(rows)) == ["dead-units-rising"]


@pytest.mark.parametrize("shares", [[0.97] * 60, [0.1] * 20 + [0.8] * 40, [0.1, 1.0, 0.1, 0.1] * 20],
                         ids=["sparse from the start", "some die", "small batches"])
def test_sparse_layers_are_no_alert(shares):
    assert of_frames([{("dead_share", "1"): share} for share in shares]) == []


def updates(ratio, rate=1e-3, norm=1.0):
    return {("update_ratio", "a.weight"): ratio, ("learning_rate", "SGD.group0"): rate, **gradients(a=norm)}


def test_an_update_far_above_the_runs_own_is_told_once():
    assert kinds(of_frames([updates(1e-3)] * 30 + [updates(0.9)] * 10)) == ["update-too-large"]


def test_updates_that_follow_the_rate_or_are_large_from_the_start_are_no_alert():
    warm_up = [updates(1e-9 * 1.2 ** k, rate=1e-9 * 1.2 ** k) for k in range(100)]
    large = [updates(0.5)] * 100
    burst = [updates(1e-3)] * 30 + [updates(0.9)] + [updates(1e-3)] * 30
    for rows in (warm_up, large, burst):
        assert of_frames(rows) == []


def test_weights_that_never_change_are_told_once_though_not_at_rate_zero():
    assert kinds(of_frames([updates(0.0)] * 60)) == ["update-zero"]
    assert of_frames([updates(0.0, norm=0.0)] * 60) == []


def test_a_rate_of_zero_is_told_once_when_it_lasts():
    found = of_frames([updates(1e-3)] * 10 + [updates(0.0, rate=0.0)] * 60)
    assert kinds(found) == ["learning-rate-zero"]
    assert of_frames([updates(0.0, rate=0.0)] * 3 + [updates(1e-3)] * 60) == []
    two = {("learning_rate", "SGD.group1"): 0.0}
    assert of_frames([updates(1e-3) | two] * 60) == []


def test_columns_that_come_later_are_judged_too():
    rows = [gradients(b=1.0)] * 5 + [gradients(a=0.0, b=1.0) | {("dead_share", "9"): 0.2}] * 80
    assert kinds(of_frames(rows)) == ["gradient-zero"]


def test_an_alert_can_be_stored():
    alert = of_losses([1.0, math.nan])[0]
    assert alert.as_dict()["kind"] == "loss-not-finite" and set(alert.as_dict()) == {"kind", "step", "subject", "value", "expected", "message"}
