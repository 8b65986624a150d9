"""Do columns keep their places from batch to batch? The test behind `align-columns`."""

import pytest
import torch

from whyloss.laboratory.experiments.order import order_changes


def batches(shuffled, *, level=2.0, count=8, rows=64, columns=32):
    torch.manual_seed(0)
    means = level * torch.randn(columns)
    made = [torch.randn(rows, columns) + means for _ in range(count)]
    return [b[:, torch.randperm(columns)] for b in made] if shuffled else made


def test_sees_columns_shuffled_anew_in_each_batch():
    assert order_changes(batches(True))


@pytest.mark.parametrize("shuffled", [True, False])
def test_says_nothing_of_columns_that_are_all_alike(shuffled):
    assert not order_changes(batches(shuffled, level=0.0))


def test_spares_columns_that_keep_their_places_and_samples_that_do_not():
    kept = batches(False)

    assert not order_changes(kept)
    assert not order_changes([b[torch.randperm(len(b))] for b in kept])


def test_spares_batches_of_different_sources():
    torch.manual_seed(1)

    assert not order_changes([torch.randn(64, 32) * (1 + at) + at * torch.randn(32) for at in range(8)])
