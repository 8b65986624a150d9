"""Kinds of curves met in real logs: bursts that heal, slow falls from a high level, correlated noise, millions of points."""

from time import perf_counter

import numpy as np
import pytest

from whyloss.curves import read_curve, read_pair


def noisy(mean, share=0.03, seed=0):
    mean = np.asarray(mean, float)
    return mean * (1 + share * np.random.default_rng(seed).normal(size=mean.size))


def read(values, **known):
    return read_curve(range(len(values)), values, **known)


def correlated(n, rho, seed):
    e, out = np.random.default_rng(seed).normal(size=n), np.empty(n)
    out[0] = e[0]
    for i in range(1, n):
        out[i] = rho * out[i - 1] + np.sqrt(1 - rho**2) * e[i]
    return out


T = np.arange(600) / 600


# ---- bursts and spikes

def test_a_burst_far_above_the_start_that_heals_slowly_is_spiky():
    loss = 0.02 + 0.5 * np.exp(-20 * T)
    loss[450:] += 17 * np.exp(-(np.arange(150)) / 4) + 0.1
    reading = read(noisy(loss, 0.01))

    assert reading.label == "spiky"
    assert abs(reading.first_bad_step - 450) <= 2


@pytest.mark.parametrize("seed", range(10))
def test_tall_points_of_a_heavy_tail_are_no_burst(seed):
    tail = np.random.default_rng(seed).lognormal(-0.5, 1, 1500)

    assert read((0.03 + 2 * np.exp(-np.arange(1500) / 75)) * tail).label != "spiky"


def test_spikes_in_few_points_are_taken_out_before_the_rest_is_read():
    loss = noisy(0.1 + 2 * np.exp(-np.arange(40) / 4), 0.01)
    loss[[15, 25, 33]] += 2
    reading = read(loss)

    assert (reading.label, reading.events) == ("spiky", (15, 25, 33))
    assert "too-short-to-tell" not in reading.also


# ---- levelled off, or not yet

def test_a_slow_fall_from_a_high_level_is_still_improving():
    epochs = np.arange(1, 31)

    assert read(14 + 2.6 / epochs**0.6).label == "still-improving"


def test_a_loss_that_loses_a_third_of_what_is_left_is_still_improving():
    assert read(noisy(3 * np.exp(-6 * T) + 0.4 * np.exp(-1.5 * T))).label == "still-improving"


def test_a_fall_that_is_nearly_over_is_not_still_improving():
    assert read(noisy(0.2 + 2 * np.exp(-6 * T))).label in ("healthy", "plateau-low")


def test_a_level_that_could_still_halve_is_not_called_a_plateau():
    assert read(noisy(0.2 + 2 * np.exp(-12 * T[::20]), 0.35, seed=2)).label in ("healthy", "too-short-to-tell")


def test_a_smooth_plateau_needs_no_independent_points():
    assert read(0.25031 + 0.39 * np.exp(-8 * T[::8])).label == "plateau-high"


# ---- noise that looks like something else

@pytest.mark.parametrize("seed", range(8))
def test_correlated_noise_around_a_level_is_no_swing(seed):
    assert read(2.3 * (1 + 0.2 * correlated(2000, 0.9, seed))).label in ("flat-from-start", "too-short-to-tell")


@pytest.mark.parametrize("seed", range(8))
def test_a_slow_wander_around_zero_is_no_loss(seed):
    assert read(correlated(2000, 0.9, seed)).label == "not-a-loss-curve"


@pytest.mark.parametrize("seed", range(5))
def test_a_heavy_tail_around_a_level_is_no_oscillation(seed):
    tail = np.random.default_rng(seed).standard_t(2.5, 5000)

    assert read(np.abs(1 + 0.18 * tail)).label == "flat-from-start"


def test_alternation_under_noise_is_an_oscillation_whatever_its_skew():
    assert read(noisy(0.6 + 0.36 * np.resize([1, -1], 3000), 0.2)).label == "oscillating"


# ---- training and validation

def test_training_that_starts_half_trained_is_not_underfitting_while_validation_improves():
    train = np.array([0.1425, 0.1320, 0.1303, 0.1287, 0.1279, 0.1273, 0.1269, 0.1267, 0.1262, 0.1260])
    val = np.array([0.548, 0.311, 0.339, 0.221, 0.158, 0.173, 0.177, 0.147, 0.138, 0.132])

    assert read_pair(range(10), train, range(10), val).label == "healthy"


@pytest.mark.parametrize("seed", range(8))
def test_a_wander_of_correlated_validation_values_is_no_overfitting(seed):
    val = (0.5 + np.exp(-10 * T)) * (1 + 0.15 * correlated(600, 0.9, seed))

    assert read_pair(range(600), noisy(0.1 + 2 * np.exp(-4 * T)), range(600), val).label != "overfitting"


def test_a_pair_can_be_given_the_readings_it_would_make():
    train, val = noisy(0.1 + 2 * np.exp(-8 * T)), noisy(1 + np.maximum(T[::20] - 0.3, 0), 0.01)
    fit, check = read_curve(range(600), train), read_curve(range(0, 600, 20), val)

    assert read_pair(range(600), train, range(0, 600, 20), val, fit=fit, check=check) == read_pair(range(600), train, range(0, 600, 20), val)


def test_the_rate_of_a_pair_is_training_s():
    part = np.digitize(np.arange(600), [240, 420])
    loss = np.array([0.6, 0.35, 0.2])[part] + np.array([0.4, 0.25, 0.15])[part] * np.exp(-(np.arange(600) - np.array([0, 240, 420])[part]) / 15)
    rate = 0.1 ** (1.0 + part)

    assert "learning-rate-limited-plateau" in read_pair(range(600), noisy(loss, 0.01), range(0, 600, 20), loss[::20], learning_rate=rate).also


# ---- millions of points

def test_ten_million_points_take_less_than_four_seconds_and_no_spike_is_lost():
    n = 10_000_000
    t = np.arange(n) / n
    loss = (0.2 + 2 * np.exp(-6 * t)) * (1 + 0.1 * np.random.default_rng(1).normal(size=n))
    spikes = (3_000_000, 6_000_001, 9_000_000)
    loss[list(spikes)] += 8
    begin = perf_counter()
    reading = read_curve(np.arange(n, dtype=float), loss)

    assert perf_counter() - begin < 4
    assert (reading.label, reading.events) == ("spiky", spikes)


def test_the_first_nan_of_a_million_points_is_named_to_the_step():
    loss = noisy(2 * np.exp(-3 * np.arange(1_000_000) / 1e6))
    loss[777_777:] = np.nan

    assert read(loss).first_bad_step == 777_777


def test_a_loss_that_breaks_late_and_stays_up_has_diverged_though_it_is_below_its_start():
    loss = 2.5 + 8 * np.exp(-12 * T)
    loss[430:] = 7.0
    reading = read(noisy(loss, 0.02))
    assert reading.label == "diverged" and 430 <= reading.first_bad_step <= 432
    healed = loss.copy()
    healed[460:] = 2.5
    assert read(noisy(healed, 0.02)).label != "diverged"


def test_a_rise_over_orders_of_magnitude_is_told_from_its_beginning():
    loss = np.r_[np.linspace(1.1, 0.4, 100), 0.4 * np.exp(np.linspace(0, 14, 200))]
    assert read(noisy(loss, 0.01)).first_bad_step < 130


def test_a_level_is_not_surely_high_where_nothing_is_known_of_the_task():
    loss = 1.6 + 0.6 * np.exp(-12 * T)
    assert read(noisy(loss, 0.05)).label == "plateau-high" and read(noisy(loss, 0.05)).confidence < 0.5
    assert read(noisy(loss, 0.05), baseline=2.3, floor=0.0).confidence > 0.5


def test_spikes_far_below_a_high_start_are_spikes():
    loss = 2.8 + 7.5 * np.exp(-25 * np.linspace(0, 1, 2000))
    for start in range(300, 2000, 180):
        loss[start : start + 20] += 1.5 * np.exp(-np.arange(20) / 6)
    reading = read_curve(range(2000), noisy(loss, 0.02))
    assert reading.label == "spiky" and len(reading.events) >= 9


def test_steps_that_are_fractions_of_an_epoch_stay_fractions():
    epochs = np.round(np.arange(1, 301) / 100, 2)
    reading = read_curve(epochs, noisy(0.4 + 2 * np.exp(-np.arange(300) / 20), 0.01))
    assert 0.1 < reading.turning_step < 1.5 and "by step 0," not in reading.detail
    assert read_curve(np.arange(300), noisy(0.4 + 2 * np.exp(-np.arange(300) / 20), 0.01)).turning_step > 10


def test_a_validation_that_begins_when_training_has_done_most_of_its_work_has_learned():
    train = 0.42 + 0.27 * np.exp(-np.arange(200) / 15)
    pair = read_pair(range(200), noisy(train, 0.01), range(40, 240, 40), [0.51, 0.508, 0.507, 0.509, 0.507])
    assert "flat" not in pair.label
    stuck = read_pair(range(200), noisy(train, 0.01), range(0, 200, 8), noisy(np.full(25, 0.69), 0.003))
    assert stuck.label == "flat-from-start"


def test_swings_with_a_short_period_are_oscillating_and_noise_is_not():
    swings = 1.35 + 0.55 * np.sin(np.arange(200) * np.pi / 2 + 0.4)
    assert read(noisy(swings, 0.05)).label == "oscillating"
    assert read(noisy(np.full(200, 1.35), 0.3)).label != "oscillating"
