"""The loss-curve judge: every label on hand-made curves, the look-alikes that must be spared, and a small simulated confusion."""

from collections import Counter
from math import inf, log, nan
from time import perf_counter

import numpy as np
import pytest

from whyloss.curves import read_curve, read_pair

LN10 = log(10)
SPARED = {"healthy", "still-improving", "plateau-low", "converged"}


def noisy(mean, share=0.03, seed=0):
    mean = np.asarray(mean, float)
    return mean * (1 + share * np.random.default_rng(seed).normal(size=mean.size))


def falling(points=400, start=LN10, end=0.1, rate=20):
    return end + (start - end) * np.exp(-rate * np.arange(points) / points)


def read(values, **known):
    return read_curve(range(len(values)), values, **known)


# ---- too little, or nothing at all

def test_an_empty_log_is_too_short():
    assert read_curve([], []).label == "too-short-to-tell"


@pytest.mark.parametrize("values", [[2.3], [2.3, 2.1], [2.3, 2.2, 2.1, 2.0]])
def test_one_to_four_values_are_too_short(values):
    assert read(values).label == "too-short-to-tell"


def test_a_single_nan_is_non_finite_not_too_short():
    reading = read([nan])

    assert (reading.label, reading.first_bad_step, reading.also) == ("non-finite", 0, ())
    assert "very first" in reading.detail


def test_a_few_wild_points_without_trend_are_too_short():
    assert read(noisy([2.3] * 12, 0.25)).label == "too-short-to-tell"


def test_steps_and_values_of_different_number_are_refused():
    with pytest.raises(ValueError, match="3, 2"):
        read_curve([0, 1, 2], [1.0, 2.0])


def test_a_missing_value_is_no_nan():
    assert read([None, 2.3, None, 2.3, 2.3, None]).label == "flat-from-start"


# ---- flat

def test_an_exactly_constant_series_is_flat_from_start():
    reading = read([0.7] * 5)

    assert (reading.label, reading.noise) == ("flat-from-start", 0.0)


def test_a_curve_at_the_guess_is_flat_at_baseline_and_says_which_logarithm():
    reading = read(noisy([LN10] * 401, 0.005), baseline=LN10)

    assert (reading.label, reading.also) == ("flat-at-baseline", ("flat-from-start",))
    assert "= ln 10 from step 0 to 400" in reading.detail
    assert reading.confidence > 0.9


def test_a_dead_net_that_only_unlearns_its_bad_start_is_flat_at_baseline():
    reading = read(noisy(falling(start=5.0, end=LN10), 0.01), baseline=LN10)

    assert (reading.label, reading.also) == ("flat-at-baseline", ())


def test_a_tiny_but_certain_fall_is_slow_and_also_flat():
    reading = read(noisy(np.linspace(2.3, 2.2, 400), 0.005))

    assert (reading.label, reading.also) == ("still-improving", ("flat-from-start",))


def test_flat_is_not_said_while_the_learning_rate_warms_up():
    rate = np.linspace(1e-7, 1e-5, 100)

    assert read(noisy([2.3] * 100, 0.01), learning_rate=rate).label == "too-short-to-tell"
    assert read(noisy([2.3] * 100, 0.01), learning_rate=np.zeros(100)).label == "flat-from-start"


def test_a_fine_tuning_that_begins_far_below_the_guess_is_not_flat():
    assert read(noisy([0.1] * 200, 0.2), baseline=LN10).label == "plateau-low"


def test_a_log_that_begins_late_says_nothing_about_the_start():
    assert read_curve(np.arange(10_000, 10_400), noisy([0.8] * 400)).label == "too-short-to-tell"


@pytest.mark.parametrize("seed", range(10))
def test_a_smoothed_flat_log_has_no_trend(seed):
    noise, smooth = np.random.default_rng(seed).normal(size=3000), np.zeros(3000)
    for i in range(1, 3000):
        smooth[i] = 0.98 * smooth[i - 1] + 0.02 * noise[i]

    assert read(2.3 + 0.5 * smooth[-1000:]).label in ("flat-from-start", "too-short-to-tell")


# ---- falling

def test_a_fall_that_goes_on_is_still_improving():
    assert read(noisy(np.linspace(2.3, 0.6, 200))).label == "still-improving"


def test_a_fall_to_almost_nothing_has_converged():
    assert read(noisy(falling(end=0.01), 0.1)).label == "converged"


def test_the_known_floor_decides_between_converged_and_plateau_high():
    values = noisy(falling(end=0.97), 0.02)

    assert read(values, floor=0.95).label == "converged"
    assert read(values, floor=0.0).label == "plateau-high"


def test_a_plateau_names_the_step_where_it_began():
    reading = read(noisy(falling(end=1.4, rate=40), 0.02))

    assert reading.label == "plateau-high"
    assert 10 <= reading.turning_step <= 60
    assert reading.segments[1] == (reading.turning_step, 399, "flat")


def test_a_level_reached_within_two_points_is_no_flat_start():
    assert read(np.r_[2.3, 1.2, noisy([0.2] * 130, 0.1)]).label == "plateau-low"


def test_a_long_wait_before_the_fall_is_spared():
    assert read(noisy(np.r_[[2.3] * 300, falling(100, end=0.3)], 0.02)).label in SPARED


def test_negative_losses_that_fall_are_spared():
    assert read(-0.88 * (1 - np.exp(-np.arange(300) / 30)) + noisy([0.01] * 300, 1)).label in SPARED
    assert read(100 - 3100 * (1 - np.exp(-np.arange(300) / 200))).label == "still-improving"


def test_eight_falling_epochs_are_enough():
    assert read([2.0, 1.2, 0.8, 0.6, 0.5, 0.42, 0.37, 0.33]).label in SPARED


def test_small_batches_near_the_end_are_not_spikes():
    rng = np.random.default_rng(0)

    assert read(falling(1500, end=0.03) * rng.lognormal(-0.5, 1, size=1500)).label in SPARED


def test_six_steadily_falling_values_are_enough_also_below_zero():
    assert read([-1, -2, -3, -4, -5, -6]).label in SPARED


def test_one_odd_value_is_not_spiky():
    values = noisy(falling(), 0.05)
    values[200] = 3.0

    assert read(values).label in SPARED


# ---- rising, swinging, spiking

def test_a_rise_above_the_start_has_diverged_and_names_where():
    reading = read(noisy(np.r_[falling(200, end=0.3), np.geomspace(0.3, 50, 100)]))

    assert reading.label == "diverged"
    assert 100 <= reading.turning_step <= 220 < reading.first_bad_step


def test_a_jump_at_the_second_step_has_diverged():
    assert read(np.r_[2.3, noisy([170] * 131, 0.3)]).label == "diverged"


def test_a_loss_that_loses_all_it_had_learnt_has_diverged():
    assert read(noisy(np.r_[falling(200), [2.2] * 100])).label == "diverged"


def test_explosion_without_infinity_has_diverged():
    assert read(np.geomspace(2.3, 1e22, 132)).label == "diverged"
    assert read(np.geomspace(2.3, 1e300, 132)).label == "diverged"
    assert read(-np.geomspace(2.3, 1e22, 132)).label == "diverged"


def test_spikes_are_named_and_the_curve_below_them_is_read():
    values = noisy(falling(), 0.05)
    values[[90, 170, 250, 333]] += 2.0
    reading = read(values)

    assert (reading.label, reading.events, reading.first_bad_step) == ("spiky", (90, 170, 250, 333), 90)
    assert reading.also == ("plateau-low",)
    assert "90, 170, 250, 333" in reading.detail


@pytest.mark.parametrize("swing", [np.sin(np.arange(400) / 12), np.resize([1, -1], 400), np.random.default_rng(1).uniform(-1, 1, 400)])
def test_swings_are_oscillating(swing):
    assert read(1.5 + 0.9 * swing).label == "oscillating"


def test_jumps_at_warm_restarts_are_meant():
    phase = np.arange(400) % 100 / 100
    values, rate = 0.3 + 1.2 * np.exp(-6 * phase), 0.05 * (1 + np.cos(np.pi * phase))

    assert read(noisy(values), learning_rate=rate).label not in ("oscillating", "diverged")


def test_drops_at_each_decay_are_a_learning_rate_limited_plateau():
    step = np.arange(400)
    levels, rate = np.choose(step // 150, [1.2, 0.6, 0.4]), 0.1 ** (1 + step // 150)
    reading = read(noisy(levels + np.exp(-step / 10), 0.03), learning_rate=rate)

    assert (reading.label, reading.turning_step) == ("learning-rate-limited-plateau", 150)


def test_a_decay_in_the_middle_of_a_steady_fall_is_not_what_limits():
    rate = np.where(np.arange(400) < 200, 0.1, 0.01)

    assert read(noisy(np.linspace(2.3, 0.5, 400)), learning_rate=rate).label == "still-improving"


# ---- not finite, not a loss

def test_the_first_nan_is_named_and_a_sudden_one_told_from_growth():
    sudden, grown = read(np.r_[falling(100), [nan] * 20]), read(np.r_[falling(100), 9, 1e3, 1e9, inf, inf])

    assert (sudden.label, sudden.first_bad_step) == ("non-finite", 100)
    assert "first NaN at step 100: sudden" in sudden.detail
    assert "first Inf at step 103: it grew before, to 1e+09" in grown.detail


def test_a_nan_that_passes_tells_what_the_rest_says():
    values = noisy(falling())
    values[7] = nan

    assert (read(values).label, read(values).also) == ("non-finite", ("plateau-low",))


def test_values_around_zero_without_trend_are_not_a_loss():
    assert read(np.random.default_rng(0).normal(size=300)).label == "not-a-loss-curve"


def test_an_accuracy_is_not_a_diverging_loss():
    assert read(noisy(0.95 - 0.85 * np.exp(-np.arange(200) / 30), 0.02)).label == "not-a-loss-curve"


# ---- order of steps, several runs, long logs

def test_unsorted_and_repeated_steps_change_nothing():
    values, order = noisy(falling()), np.random.default_rng(0).permutation(400)

    assert read_curve(order, values[order]) == read(values)
    assert read_curve(np.r_[np.arange(400), 399], np.r_[values, values[-1]]) == read(values)


def test_a_second_run_in_the_log_is_the_one_that_counts():
    first, second = noisy(falling(200)), noisy([2.3] * 200, 0.01)
    reading = read_curve(np.r_[:200, :200], np.r_[first, second])

    assert reading.label == "flat-from-start"
    assert reading.segments[0] == (0, 199, "run: plateau-low")


def test_steps_counted_anew_in_each_epoch_are_one_run():
    assert read_curve(np.resize(np.arange(100), 400), noisy(np.linspace(2.3, 0.5, 400))).segments == ((0, 399, "falling"),)


def test_a_resumed_run_replaces_what_it_overlaps():
    values = noisy(np.linspace(2.3, 0.5, 400))
    doubled = read_curve(np.r_[:300, 250:400], np.r_[values[:250], [9.0] * 50, values[250:]])

    assert doubled == read(values)


def test_a_gap_in_the_log_is_no_plateau():
    step = np.r_[:300, 300:10_000:500]

    assert read_curve(step, noisy(2.3 - 1.8 * step / 10_000, 0.02)).label == "still-improving"


def test_a_million_points_take_less_than_two_seconds_and_reading_is_repeatable():
    values, begin = noisy(falling(1_000_000)), perf_counter()
    reading = read_curve(np.arange(1_000_000), values)

    assert perf_counter() - begin < 2
    assert reading.label == "plateau-low"
    assert reading == read_curve(np.arange(1_000_000), values)


# ---- pairs

def pair(train, val, every=20):
    return read_pair(range(len(train)), train, range(0, every * len(val), every), val)


def test_validation_that_rises_while_training_falls_is_overfitting():
    reading = pair(noisy(falling(end=0.02)), noisy(np.r_[np.linspace(2.3, 0.6, 8), np.linspace(0.65, 1.2, 12)], 0.01))

    assert reading.label == "overfitting"
    assert 120 <= reading.turning_step <= 180
    assert "rose from 0.6" in reading.detail


@pytest.mark.parametrize("seed", range(10))
def test_the_lowest_of_many_noisy_validation_values_is_not_overfitting(seed):
    assert pair(noisy(falling(), seed=seed), noisy(falling(20, end=0.3), 0.05, seed=seed + 50)).label == "healthy"


def test_a_small_rise_far_past_convergence_is_spared():
    assert pair(noisy(falling(end=0.005)), noisy(np.r_[falling(10, end=0.1), np.linspace(0.1, 0.13, 10)], 0.01)).label == "healthy"


def test_both_level_off_high_is_underfitting():
    assert pair(noisy(falling(end=1.4)), noisy(falling(20, end=1.45, rate=30), 0.01)).label == "underfitting"


def test_a_pair_with_faulty_training_speaks_of_training():
    reading = pair(noisy([LN10] * 400, 0.005), noisy([LN10] * 20, 0.001))

    assert reading.label == "flat-from-start"
    assert reading.detail.startswith("training: ")


def test_a_pair_with_three_validation_values_is_too_short():
    assert pair(noisy(falling()), [2.3, 0.5, 0.4]).label == "too-short-to-tell"
    assert pair(noisy(falling()), []).label == "too-short-to-tell"


def test_validation_above_training_dropout_is_healthy():
    assert pair(noisy(falling(end=0.5, rate=8), 0.1), noisy(falling(20, end=0.2, rate=8), 0.02)).label == "healthy"


# ---- a real small net: mini-batch training of a two-layer net on ten noisy clusters

@np.errstate(all="ignore")
def losses_of_a_net(rate, steps, seed, batch=64, shuffled=False, dead=False):
    rng = np.random.default_rng(seed)
    labels = rng.integers(10, size=1400)
    inputs = rng.normal(size=(10, 20))[labels] + 0.7 * rng.normal(size=(1400, 20))
    labels = rng.permutation(labels) if shuffled else labels
    w, v, losses = rng.normal(size=(20, 32)) * 0.3, rng.normal(size=(32, 10)) * 0.2, []
    w, v = (0 * w, 0 * v) if dead else (w, v)
    for _ in range(steps):
        pick = rng.integers(1400, size=batch)
        hidden = np.maximum(inputs[pick] @ w, 0)                                      # (batch, 32)
        logits = hidden @ v                                                           # (batch, 10)
        logits -= logits.max(1, keepdims=True)
        p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        losses.append(-np.log(p[np.arange(batch), labels[pick]] + 1e-12).mean())
        p[np.arange(batch), labels[pick]] -= 1
        back = p @ v.T * (hidden > 0) / batch
        v, w = v - rate * hidden.T @ p / batch, w - rate * inputs[pick].T @ back
    return losses


@pytest.mark.parametrize("steps", [132, 400])
@pytest.mark.parametrize("rate", [0.05, 0.1, 0.3])
@pytest.mark.parametrize("batch", [8, 64])
def test_a_sound_small_training_is_never_called_a_fault(steps, rate, batch):
    labels = Counter(read(losses_of_a_net(rate, steps, seed, batch), **known).label for seed in range(6) for known in ({}, {"baseline": LN10}))

    assert set(labels) <= SPARED, labels


@pytest.mark.parametrize("steps", [132, 400])
@pytest.mark.parametrize("fault", [{"rate": 0.0}, {"rate": 0.1, "dead": True}])
def test_a_small_net_that_does_not_learn_is_flat(steps, fault):
    for seed in range(4):
        reading = read(losses_of_a_net(steps=steps, seed=seed, **fault), baseline=LN10)

        assert "flat" in reading.label + "".join(reading.also), reading


def test_a_small_net_on_shuffled_labels_is_no_success():
    for seed in range(4):
        assert read(losses_of_a_net(0.05, 132, seed, shuffled=True), baseline=LN10).label not in SPARED - {"still-improving"}


@pytest.mark.parametrize("steps", [132, 400])
def test_a_small_net_with_a_huge_rate_is_no_success(steps):
    for seed in range(4):
        assert read(losses_of_a_net(100.0, steps, seed), baseline=LN10).label in ("diverged", "oscillating", "non-finite")


# ---- simulated confusion: label x noise (share of the level) x length, fixed seeds

def exponential(t, low, rate):
    return low + (1 - low) * np.exp(-rate * t)


def simulated(label, n, noise, rng):
    """One curve of this label with random level, speed, place of the event; and what the reader is told."""
    t, start, known = np.arange(n) / n, rng.choice([log(2), LN10, log(1000), 1.0]), {}
    if label in ("flat-at-baseline", "flat-from-start"):
        m = np.full(n, 1.0 if label == "flat-at-baseline" else rng.uniform(1.15, 1.5))
        known = {"baseline": start} if label == "flat-at-baseline" or rng.random() < 0.5 else {}
    elif label == "still-improving":
        m = 1 - rng.uniform(0.5, 0.85) * t ** rng.uniform(0.7, 1.2) if rng.random() < 0.5 else np.exp(-t * rng.uniform(1, 2))
    elif label in ("plateau-high", "plateau-low"):
        m = exponential(t, rng.uniform(0.42, 0.7) if label == "plateau-high" else rng.uniform(0.05, 0.2), rng.uniform(10, 30))
    elif label == "converged":
        floor = rng.uniform(0.1, 0.5)
        m, known = exponential(t, floor + 0.08 * (1 - floor), rng.uniform(10, 30)), {"floor": floor * start, "baseline": start}
    elif label == "diverged":
        turn, kind = rng.uniform(0.2, 0.7), rng.integers(3)
        rise = np.exp(np.maximum(t - turn, 0) * rng.uniform(4, 12) / (1 - turn)) - 1
        m = [np.exp(-3 * np.minimum(t, turn)) + rise, np.where(t < turn, np.exp(-4 * t), rng.uniform(2, 5)),
             np.where(t > 0, rng.uniform(3, 50), 1)][kind]
    elif label == "non-finite":
        m = np.where(t < rng.uniform(0.2, 0.9), np.exp(-3 * t), nan)
    elif label == "spiky":
        m = exponential(t, 0.1, rng.uniform(3, 10))
        m[rng.choice(np.arange(n // 8, n), max(3, int(n * rng.uniform(0.01, 0.05))), replace=False)] += rng.uniform(0.8, 2)
    elif label == "oscillating":
        swing = [np.sin(2 * np.pi * t * rng.uniform(3, 8) + rng.uniform(0, np.pi)), 0.6 * np.resize([1, -1], n), rng.uniform(-1.3, 1.3, n)]
        m = rng.uniform(0.6, 1) + rng.uniform(0.4, 0.6) * swing[rng.integers(3)]
    else:
        part = np.digitize(t, [0.4, 0.7])
        m = np.choose(part, [0.6, 0.35, 0.22]) + np.choose(part, [0.4, 0.25, 0.13]) * np.exp(-40 * (t - np.choose(part, [0, 0.4, 0.7])))
        known = {"learning_rate": 0.1 ** (1 + part)}
    return start * m * (1 + noise * rng.normal(size=n)), known


SIMULATED = ("flat-at-baseline", "flat-from-start", "still-improving", "plateau-high", "plateau-low", "converged", "diverged", "non-finite",
             "spiky", "oscillating", "learning-rate-limited-plateau")
SAME = {("plateau-low", "converged")}     # without a floor the two differ by degree only


def test_labels_of_simulated_curves_are_right_in_95_of_100():
    rng, confusion, false_alarms = np.random.default_rng(2024), Counter(), Counter()
    for n in (50, 132, 400, 1500, 5000):
        for noise in (0.01, 0.05, 0.1):
            for label in SIMULATED * 5:
                values, known = simulated(label, n, noise, rng)
                said = read(values, **known).label
                confusion[label, said] += 1
                if label in SPARED and said not in SPARED | {"too-short-to-tell"}:
                    false_alarms[label, said, n, noise] += 1
    wrong = {pair: count for pair, count in confusion.items() if pair[0] != pair[1] and pair not in SAME}

    assert 1 - sum(wrong.values()) / confusion.total() >= 0.95, wrong
    assert not false_alarms, false_alarms
