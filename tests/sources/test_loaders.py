"""What loader workers draw from, asked of the loader and a shallow copy of its data set."""

import random

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from whyloss.sources.loaders import Loaders


class Noisy(Dataset):
    def __init__(self, draw, rng=None):
        self.draw, self.rng = draw, rng

    def __len__(self):
        return 16

    def __getitem__(self, index):
        return torch.full((2,), float(self.draw(self, index)))


class Seen:
    """Stands for the watch: backward passes so far, and what was written."""

    def __init__(self):
        self.window_count, self.rows = 0, {}

    def observe(self, quantity, value, subject):
        self.rows[subject] = value


def told(loader, epochs=2, backward=True):
    watch = Seen()
    loaders = Loaders(watch)
    loaders.made_at(loader, "train.py:9")
    for _ in range(epochs):
        loaders.used(loader)
        watch.window_count += 4 * backward
    loaders.at_the_end()
    return watch.rows.get("train.py:9")


def held(self, index):
    return self.rng.normal()


def alike(worker):
    np.random.seed(0)


def own(worker):
    np.random.seed(worker)


@pytest.mark.parametrize("rng", [np.random.default_rng(3), np.random.RandomState(3)])
def test_a_generator_in_the_data_set_is_the_same_in_each_worker(rng):
    row = told(DataLoader(Noisy(held, rng), num_workers=2))

    assert row["kind"] == "held" and row["name"] == "rng" and row["workers"] == 2 and row["epochs"] == 2


def test_asking_changes_neither_the_generator_nor_the_process():
    rng = np.random.default_rng(3)
    random.seed(5), np.random.seed(5), torch.manual_seed(5)
    before = repr(rng.bit_generator.state), random.getstate(), repr(np.random.get_state()), torch.get_rng_state()
    told(DataLoader(Noisy(held, rng), num_workers=2))
    told(DataLoader(Noisy(lambda self, index: np.random.rand()), num_workers=2, worker_init_fn=alike))
    after = repr(rng.bit_generator.state), random.getstate(), repr(np.random.get_state()), torch.get_rng_state()

    assert before[:3] == after[:3] and torch.equal(before[3], after[3])


def test_a_worker_init_fn_that_seeds_all_workers_alike_is_told():
    loader = DataLoader(Noisy(lambda self, index: np.random.rand()), num_workers=2, worker_init_fn=alike)

    assert told(loader)["kind"] == "seeded" and told(loader)["generator"] == "numpy.random"


@pytest.mark.parametrize("loader", [
    DataLoader(Noisy(lambda self, index: np.random.rand()), num_workers=2),                          # torch seeds numpy in each worker
    DataLoader(Noisy(lambda self, index: np.random.rand()), num_workers=2, worker_init_fn=own),
    DataLoader(Noisy(lambda self, index: torch.rand(())), num_workers=2, worker_init_fn=alike),      # draws from torch
    DataLoader(Noisy(held, np.random.default_rng(3)), num_workers=0),
    DataLoader(Noisy(held, np.random.default_rng(3)), num_workers=2, worker_init_fn=own),            # may reach into the data set
    DataLoader(Noisy(lambda self, index: np.random.default_rng(index).normal(), np.random.default_rng(3)), num_workers=2),  # from its own index
])
def test_spares_workers_that_draw_their_own(loader):
    assert told(loader) is None


def test_spares_a_loader_that_nothing_is_trained_on():
    assert told(DataLoader(Noisy(held, np.random.default_rng(3)), num_workers=2), backward=False) is None
