"""Logged runs written by hand."""

import numpy as np

from whyloss.logged import LoggedRun, LoggedSeries


def column(name, values, steps=None, epochs=None, unit="step"):
    values = np.asarray(values, float)
    steps = np.arange(values.size, dtype=float) if steps is None else np.asarray(steps, float)
    return LoggedSeries(name, steps, values, unit, None if epochs is None else np.asarray(epochs, float))


def log(*columns, at="runs/a/metrics.csv", **settings):
    return LoggedRun(at, "csv", (), {c.name: c for c in columns}, settings)


def named(*names, points=30):
    """A run whose columns hold nothing of interest."""
    return log(*(column(name, np.linspace(2, 1, points) + 0.01 * i) for i, name in enumerate(names)))


def falling(points=1000, low=0.2, rate=6, noise=0.03, seed=0):
    t = np.arange(points) / points
    return (low + 2 * np.exp(-rate * t)) * (1 + noise * np.random.default_rng(seed).normal(size=points))


def level(points=400, at=2.3, noise=0.01, seed=0):
    return at * (1 + noise * np.random.default_rng(seed).normal(size=points))
