"""Means of a row's own label are told from means of other rows' labels."""

import pytest
import torch

from whyloss.laboratory.experiments.encoding import mean_of_own_labels

ROWS, GROUPS = 3600, 1400


def encoded(kind, smooth=1.0, seed=0, groups=GROUPS):
    """(column, labels) of a table with many small groups; standardised, and a part of the rows seen."""
    draw = torch.Generator().manual_seed(seed)
    group = torch.randint(0, groups, (ROWS,), generator=draw)
    taste = torch.randn(groups, generator=draw)
    labels = torch.rand(ROWS, generator=draw) < torch.sigmoid(taste[group] - 0.5)
    other = torch.rand(ROWS, generator=draw) < torch.sigmoid(taste[group] - 0.5)
    y = (other if kind == "earlier rows" else labels).double()
    count, total = group.bincount(minlength=groups).double(), group.bincount(weights=y, minlength=groups)
    own = y if kind == "all but itself" else torch.zeros(ROWS, dtype=torch.double)
    rest = count[group] - float(kind == "all but itself")
    value = (total[group] - own + smooth * y.mean()) / (rest + smooth).clamp_min(1e-9)
    seen = torch.randperm(ROWS, generator=draw)[:2400]
    value = ((value - value.mean()) / value.std()).float()
    return value[seen], labels[seen].long()


@pytest.mark.parametrize("smooth", [0.0, 0.5, 5.0])
def test_knows_means_that_hold_the_rows_own_label(smooth):
    column, labels = encoded("own", smooth)

    assert mean_of_own_labels(column, labels) and mean_of_own_labels(-column, labels)


@pytest.mark.parametrize("kind", ["all but itself", "earlier rows"])
@pytest.mark.parametrize("smooth", [0.0, 1.0])
def test_spares_means_of_other_rows(kind, smooth):
    assert not any(mean_of_own_labels(*encoded(kind, smooth, seed)) for seed in range(3))


def test_spares_large_groups_plain_categories_and_measurements():
    draw = torch.Generator().manual_seed(2)
    kind = torch.randint(0, 12, (ROWS,), generator=draw)
    chance = torch.tensor([0, 0, 0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1, 1])
    labels = (torch.rand(ROWS, generator=draw) < chance[kind]).long()

    assert not mean_of_own_labels(*encoded("own", 1.0, groups=40))
    assert not mean_of_own_labels(kind.float(), labels) and not mean_of_own_labels(torch.randn(ROWS, generator=draw), labels)
