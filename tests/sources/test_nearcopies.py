"""Copies with noise are told from rows that are merely near."""

import torch

from whyloss.sources.nearcopies import near_copies


def measured(rows, columns=12, seed=0):
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))


def multiplied(rows, times, noise=0.02, seed=1):
    many = rows.repeat(times, 1)
    many = many + noise * torch.randn(many.shape, generator=torch.Generator().manual_seed(seed))
    return many[torch.randperm(len(many), generator=torch.Generator().manual_seed(seed))]


def test_finds_rows_multiplied_before_the_split():
    every = multiplied(measured(160), 6)
    fact = near_copies(every[:700], every[700:])

    assert fact["near"] > 0.9 * fact["rows"] and fact["within"] > 0.5 * fact["near"]
    assert fact["clusters"] > 80 and fact["dimension"] > 5 and fact["columns"] == 1


def test_finds_one_class_oversampled_before_the_split():
    every = torch.cat([measured(500), multiplied(measured(60, seed=3) + 0.5, 8)])
    every = every[torch.randperm(len(every), generator=torch.Generator().manual_seed(5))]
    fact = near_copies(every[:750], every[750:])

    assert 0.35 < fact["near"] / fact["rows"] < 0.65 and fact["clusters"] > 30


def test_spares_copies_among_the_training_rows_alone():
    assert near_copies(multiplied(measured(150), 6), measured(200, seed=9)) == {"rows": 200, "near": 0}


def test_no_row_of_clean_training_data_has_a_copy_beside_it_in_the_evaluation():
    clean = measured(300)
    fact = near_copies(multiplied(clean, 3, noise=0.05), clean)  # noise drawn anew in each epoch, accuracy on the rows themselves

    assert fact["within"] == 0


def test_spares_dense_regions_few_degrees_of_freedom_and_grids():
    at = torch.arange(800) * 0.37
    waves = torch.stack([torch.sin(at * k + k) for k in (1.0, 1.3, 1.7, 2.1, 2.9)], 1)
    tight = torch.cat([measured(500), 0.01 * measured(500, seed=4) + 3])
    tight = tight[torch.randperm(1000, generator=torch.Generator().manual_seed(6))]
    bits = torch.randint(0, 2, (900, 7), generator=torch.Generator().manual_seed(7)).float()
    bits = bits + 0.01 * torch.randn(bits.shape, generator=torch.Generator().manual_seed(8))
    for rows in (waves, tight, bits, measured(900, 4)):
        fact = near_copies(rows[:600], rows[600:])
        assert fact["near"] < 0.2 * fact["rows"] or fact["dimension"] < 3 or fact["columns"] < 0.5


def test_says_nothing_of_small_samples():
    assert near_copies(measured(100), measured(100)) is None and near_copies(measured(300), measured(20)) is None
