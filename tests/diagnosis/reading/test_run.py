"""One run: its label, what was noticed, and what to run next."""

import json
from dataclasses import replace
from math import log as ln

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from tests.diagnosis.reading.logs import column, falling, level, log, named
from whyloss.diagnosis.order import BY_NAME
from whyloss.diagnosis.reading.advice import TABLE_OF_ADVICE
from whyloss.diagnosis.reading.run import BROKEN, read_run
from whyloss.errors import UnknownName

EPOCHS = np.arange(1000) / 100      # of a run of 1000 steps, 100 an epoch


def remark(reading, words):
    return [r for r in reading.remarks if words in r]


# ---- the label of the run

def test_a_sound_run_asks_for_nothing_but_a_validation_loss():
    reading = read_run(log(column("loss", falling())))

    assert (reading.label, reading.broken) == ("healthy", False)
    assert reading.advice.check == "log a validation loss"


def test_overfitting_names_the_turning_step_in_the_log_s_own_steps():
    epochs = np.linspace(0, 1, 40)
    val = 1 + 2 * np.maximum(epochs - 0.4, 0) + np.exp(-15 * epochs) + 0.005 * np.random.default_rng(0).normal(size=40)
    reading = read_run(log(column("loss", falling(400)), column("val_loss", val, steps=np.arange(40) * 10)))

    assert (reading.label, reading.advice.stage) == ("overfitting", "generalisation")
    assert abs(reading.turning_step - 160) <= 50
    assert reading.curves["val_loss"].segments == ((0, reading.turning_step, "falling"), (reading.turning_step, 390, "rising"))


def test_most_validation_sets_decide():
    epochs = np.linspace(0, 1, 30)
    rising, fine = 1 + 3 * np.maximum(epochs - 0.3, 0), 1 + np.exp(-4 * epochs)
    sets = [column(f"eval_{name}_loss", values, steps=np.arange(30) * 10) for name, values in (("a", rising), ("b", 2 * rising), ("c", fine))]
    reading = read_run(log(column("loss", falling(300)), *sets))

    assert reading.label == "overfitting"
    assert "2 of 3" in reading.detail


def test_a_nan_in_one_term_makes_the_run_non_finite():
    broken = falling(200)
    broken[120:] = np.nan
    reading = read_run(log(column("loss", falling(200)), column("aux_loss", broken)))

    assert (reading.label, reading.first_bad_step, reading.judged.name) == ("non-finite", 120, "aux_loss")


def test_reinforcement_learning_is_not_judged_by_its_losses_unless_they_are_nan():
    fine = named("rollout/ep_rew_mean", "train/value_loss", "train/loss")
    broken = replace(fine, series=fine.series | {"train/value_loss": column("train/value_loss", [1, 2, *[np.nan] * 28])})

    assert read_run(fine).label == "not-a-loss-curve"
    assert "return" in read_run(fine).advice.check
    assert (read_run(broken).label, read_run(broken).first_bad_step) == ("non-finite", 2)


def test_a_loss_that_is_named_is_judged_even_there():
    assert read_run(log(column("loss", falling()), column("reward", falling())), loss="loss").label == "healthy"


def test_validation_speaks_where_training_has_a_handful_of_points():
    reading = read_run(log(column("train_loss", [2.0, 1.0], steps=[0, 99]), column("val_loss", level(100))))

    assert (reading.label, reading.judged.name) == ("flat-from-start", "val_loss")


def test_a_level_log_that_begins_late_is_level_without_much_confidence():
    reading = read_run(log(column("loss", level(400), steps=np.arange(100_000, 100_400))))

    assert (reading.label, reading.confidence < 0.5) == ("flat-from-start", True)
    assert "begins late" in reading.detail


@pytest.mark.parametrize("columns", [(), [column("loss", [])], [column("loss", [1.0])], [column("loss", [np.inf]), column("val_loss", [np.nan])]])
def test_next_to_nothing_is_no_error(columns):
    assert read_run(log(*columns)).label in ("too-short-to-tell", "non-finite")


def test_an_accuracy_alone_is_no_loss():
    assert read_run(log(column("accuracy", 1 - np.exp(-np.arange(50) / 9)))).label == "not-a-loss-curve"


# ---- baselines are stated, never guessed

def test_the_baseline_comes_from_the_number_of_classes():
    run = log(column("loss", level(at=ln(10))))

    assert read_run(run).label == "flat-from-start"
    assert read_run(run, classes=10).label == "flat-at-baseline"
    assert read_run(run, classes=10, loss_name="mse").label == "flat-from-start"


def test_the_baseline_comes_from_the_settings_when_they_name_a_cross_entropy():
    stated = log(column("loss", level(at=ln(10))), criterion="CrossEntropyLoss", num_classes=10)

    assert read_run(stated).label == "flat-at-baseline"
    assert read_run(log(column("loss", level(at=ln(10))), num_classes=10)).label == "flat-from-start"


def test_a_level_that_equals_a_guess_to_a_thousandth_is_high_and_says_which_guess():
    reading = read_run(log(column("loss", 0.25 + 1.5 * np.exp(-np.arange(300) / 8))))

    assert reading.label == "plateau-high"
    assert "constant guess" in reading.detail


# ---- NaN that hides, NaN that is none

def test_zeros_after_positive_losses_are_a_nan_that_was_filtered():
    loss, norm = falling(), np.ones(1000)
    loss[600:], norm[600:] = 0, np.nan

    for reading, sure in ((read_run(log(column("loss", loss), column("grad_norm", norm))), 1.0), (read_run(log(column("loss", loss))), 0.8)):
        assert (reading.label, reading.first_bad_step, reading.confidence) == ("non-finite", 600, sure)
        assert "logging_nan_inf_filter" in reading.advice.check


@pytest.mark.parametrize("values", [
    np.round(2 * np.exp(-np.arange(900) / 80), 4), 2 * np.exp(-np.arange(300) / 4) * (np.arange(300) < 200),              # learned down to nothing
    np.r_[0.0, falling(299)], np.zeros(50),                                 # nothing logged yet; a term that is off
    np.random.default_rng(0).integers(0, 4, 300) / 4.0,                     # an error counted in quarters
])  # fmt: skip
def test_zeros_that_mean_something_are_spared(values):
    assert read_run(log(column("loss", values))).label != "non-finite"


def test_blanks_filled_with_nan_are_no_nan():
    val = np.where(np.arange(1000) % 50 == 49, falling(), np.nan)
    reading = read_run(log(column("loss", falling()), column("val_loss", val)))

    assert reading.label == "healthy"


# ---- spikes

def with_spikes(at, height=1.5):
    loss = falling()
    loss[list(at)] += height
    return loss


def test_spikes_at_the_border_of_each_epoch_point_to_the_data():
    reading = read_run(log(column("loss", with_spikes(range(100, 1000, 100)), epochs=EPOCHS)))
    spikes = reading.spikes["loss"]

    assert (reading.label, spikes.period, spikes.at_epoch_border, reading.advice.stage) == ("spiky", 100, 9, "data")
    assert reading.first_bad_step == 100


def test_spikes_after_an_overflow_point_to_numerics():
    at, norm = (200, 431, 650, 777, 912), np.ones(1000)
    norm[[i - 1 for i in at]] = np.inf
    reading = read_run(log(column("loss", with_spikes(at)), column("grad_norm", norm)))

    assert (reading.spikes["loss"].after_overflow, reading.spikes["loss"].period, reading.advice.stage) == (5, None, "numerics")


def test_spikes_after_the_loss_scale_was_halved_are_an_overflow():
    at, scale = (200, 431, 650, 777), np.full(1000, 65536.0)
    for i in at:
        scale[i:] /= 2

    assert read_run(log(column("loss", with_spikes(at)), column("loss_scale", scale))).spikes["loss"].after_overflow == 4


def test_spikes_near_the_peak_of_the_warm_up_point_to_the_rate():
    rate = np.interp(np.arange(1000), [0, 300, 1000], [0, 1e-3, 0])
    reading = read_run(log(column("loss", with_spikes((280, 295, 310, 322))), column("lr", rate)))

    assert (reading.spikes["loss"].at_peak_rate, reading.advice.stage) == (4, "learning-rate")


# ---- what else is noticed

def test_drops_at_the_cuts_of_the_logged_rate():
    part = np.digitize(np.arange(1000), [400, 700])
    loss = np.array([0.6, 0.35, 0.22])[part] + np.array([0.4, 0.25, 0.13])[part] * np.exp(-(np.arange(1000) - np.array([0, 400, 700])[part]) / 25)
    reading = read_run(log(column("loss", loss * (1 + 0.02 * np.random.default_rng(0).normal(size=1000))), column("lr", 0.1 ** (1.0 + part))))

    assert (reading.label, reading.turning_step, reading.broken) == ("learning-rate-limited-plateau", 400, False)


def test_a_sawtooth_with_the_epoch_s_period_and_a_staircase_are_told_apart():
    noise = 0.02 * np.random.default_rng(0).normal(size=1000)
    saw = 1 + np.exp(-EPOCHS / 3) + 0.3 * (EPOCHS % 1) + noise
    stairs = 0.1 + 2 * np.exp(-0.3 * np.floor(EPOCHS)) + noise

    assert remark(read_run(log(column("loss", saw, epochs=EPOCHS))), "rises inside each epoch")
    assert remark(read_run(log(column("loss", stairs, epochs=EPOCHS))), "steps down at the border")
    assert not remark(read_run(log(column("loss", falling(), epochs=EPOCHS))), "epoch")


def test_a_smoothed_log_is_called_smoothed_and_a_raw_one_is_not():
    smooth = np.convolve(np.r_[[2.2] * 29, falling()], np.ones(30) / 30, "valid")

    assert remark(read_run(log(column("loss", smooth))), "short events are hidden")
    assert not remark(read_run(log(column("loss", falling()))), "short events")


def test_a_resumed_run_is_noticed():
    steps = np.r_[np.arange(600), np.arange(500, 900)]

    assert remark(read_run(log(column("loss", falling(), steps=steps))), "goes back at row 600")


def test_loss_and_accuracy_that_disagree():
    epochs = np.linspace(0, 1, 40)
    val = column("val_loss", 1 + 2 * np.maximum(epochs - 0.3, 0))

    assert remark(read_run(log(column("loss", falling(40)), val, column("val_accuracy", 0.5 + 0.4 * epochs))), "over-confident")
    assert remark(read_run(log(column("loss", falling(40)), column("accuracy", [0.1] * 40))), "never updated")


def test_a_rate_or_gradient_of_zero_is_said():
    reading = read_run(log(column("loss", level()), column("lr", [0.0] * 400), column("grad_norm", [0.0] * 400)))

    assert len(remark(reading, "exactly 0 throughout")) == 2
    assert "proof" in reading.advice.because


def test_a_term_that_is_switched_off_is_said():
    assert remark(read_run(log(column("train/box_loss", falling(80)), column("train/cls_loss", [0.0] * 80))), "train/cls_loss is exactly 0")


# ---- axes, columns, words

def test_the_axis_can_be_chosen():
    run = log(column("loss", falling()), column("tokens", np.arange(1000) * 512.0))

    assert read_run(run, x="tokens").judged.steps[-1] == 999 * 512
    assert read_run(log(column("loss", falling(), epochs=EPOCHS)), x="epoch").step_unit == "epoch"
    with pytest.raises(UnknownName, match="tokens"):
        read_run(run, x="token")


def test_every_label_has_advice_and_every_stage_is_in_the_order():
    assert set(TABLE_OF_ADVICE) > BROKEN
    assert all(a.stage is None or a.stage in BY_NAME for a in TABLE_OF_ADVICE.values())


def test_a_reading_never_names_a_cause_as_certain_and_names_one_check():
    lines = read_run(log(column("loss", level()))).lines()

    assert sum(line.startswith("next: ") for line in lines) == 1
    assert any(line.startswith("can mean: ") and " or " in line for line in lines)


def test_a_reading_goes_into_json_without_its_points():
    reading = read_run(log(column("loss", falling()), column("val_loss", falling(20), steps=np.arange(20) * 50)))
    told = json.loads(json.dumps(reading.as_dict()))

    assert (told["label"], told["judged"], told["pairs"][0]["training"]) == (reading.label, reading.judged.name, "loss")
    assert len(json.dumps(told)) < 6000


NAMES = some.sampled_from(["loss", "val_loss", "lr", "grad_norm", "accuracy", "x_loss", "value_loss", "odd"])
NUMBERS = some.lists(some.floats(allow_nan=True, allow_infinity=True, width=64), max_size=40)


@settings(max_examples=150, deadline=None)
@given(some.dictionaries(NAMES, some.tuples(NUMBERS, NUMBERS), max_size=5))
def test_no_numbers_make_it_fail(columns):
    made = []
    for name, (steps, values) in columns.items():
        n = min(len(steps), len(values))
        made.append(column(name, values[:n], steps=steps[:n], epochs=steps[:n]))
    reading = read_run(log(*made))

    assert reading.label in TABLE_OF_ADVICE
    assert reading.lines()
