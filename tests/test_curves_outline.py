"""The extremes of a curve's blocks tell what a walk over all its points would."""

import numpy as np
import pytest

from whyloss.curves.outline import BLOCK, Outline


@pytest.mark.parametrize("n", [1, 3, BLOCK, BLOCK + 1, 5 * BLOCK - 1, 70_000 * 2])
@pytest.mark.parametrize("spoilt", [None, np.nan, np.inf, -np.inf, 0.0])
def test_an_outline_agrees_with_the_whole_curve(n, spoilt):
    y = 1.0 + np.random.default_rng(n).random(n)
    if spoilt is not None:
        y[n * 2 // 3] = spoilt
    outline = Outline(np.arange(n, dtype=float), y)
    assert outline.finite == bool(np.isfinite(y).all())
    np.testing.assert_equal([outline.most, outline.least], [y.max(), y.min()])
    assert outline.has_zero == bool((y == 0).any())


@pytest.mark.parametrize("place", [1, 65_536, 65_537, 139_999])
@pytest.mark.parametrize("step", ["back", "again", "nan"])
def test_one_step_that_does_not_rise_is_seen_wherever_it_is(place, step):
    x = np.arange(140_000, dtype=float)
    assert Outline(x.copy(), x).rising
    x[place] = {"back": x[place - 1] - 0.5, "again": x[place - 1], "nan": np.nan}[step]
    assert not Outline(x, x).rising


def test_no_steps_do_not_rise():
    assert not Outline(np.empty(0), np.empty(0)).rising
