"""Sharded parameters: each rank tells of its own part, and of which ranks hold the rest. No collective is needed for that."""

import math

import pytest
import torch
from torch import nn

from whyloss.sources.monitor import Monitor

distributed = pytest.importorskip("torch.distributed.tensor")


class Ledger:
    def __init__(self):
        self.problem, self.told, self.names, self.frames = None, [], [], []

    def columns(self, columns):
        self.names = list(columns)

    def frame(self, step, values, seconds):
        self.frames.append(dict(zip(self.names, values)))

    def observe(self, quantity, value, subject="run", step=0):
        self.told.append((quantity, value, subject))

    def event(self, step, kind, data):
        pass

    def close(self):
        pass


@pytest.fixture
def two_ranks():
    """One process that believes to be the first of two."""
    torch._dynamo.reset()
    from torch.testing._internal.distributed.fake_pg import FakeStore
    torch.distributed.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
    yield torch.distributed.init_device_mesh("cpu", (2,))
    torch.distributed.destroy_process_group()


def test_a_rank_tells_the_norm_of_its_own_part_and_who_holds_the_others(two_ranks, monkeypatch):
    whole = torch.arange(24.0).reshape(6, 4)
    part = whole[:3]
    model = nn.Module()
    model.weight = nn.Parameter(distributed.DTensor.from_local(part.clone(), two_ranks, [distributed.Shard(0)]))
    model.copied = nn.Parameter(distributed.DTensor.from_local(torch.ones(3), two_ranks, [distributed.Replicate()]))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ledger = Ledger()
    for name in ("all_reduce", "all_gather", "all_gather_into_tensor", "broadcast", "barrier"):
        monkeypatch.setattr(torch.distributed, name, lambda *a, **k: pytest.fail("a collective"))
    with Monitor(model, optimizer, every=1, ledger=ledger) as monitor:
        for _ in range(2):
            for p, size in ((model.weight, 2.0), (model.copied, 1.0)):
                p.grad = distributed.DTensor.from_local(torch.full_like(p.to_local(), size), two_ranks, p.placements)
            optimizer.step()
    assert monitor.problem is None
    assert ledger.frames[0]["weight_norm", "weight"] == pytest.approx(float(part.norm()))
    assert ledger.frames[0]["grad_norm", "weight"] == pytest.approx(2 * math.sqrt(12))
    assert ledger.frames[0]["update_ratio", "weight"] == pytest.approx(0.2 * math.sqrt(12) / float(part.norm()), rel=1e-4)
    assert ledger.frames[0]["grad_norm", "copied"] == pytest.approx(math.sqrt(3))
    assert ("sharded", {"over": [0, 1]}, "weight") in ledger.told
    assert ("sharded", {"over": [0, 1]}, "run") in ledger.told
    assert not any(quantity == "sharded" and subject == "copied" for quantity, _value, subject in ledger.told)
    assert ("rank", {"rank": 0, "world": 2}, "run") in ledger.told


def test_ranks_sample_the_same_steps_without_a_word_between_them(two_ranks):
    model = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def sampled(cost):
        """The steps that a rank would sample whose samples cost so much."""
        with Monitor(model, optimizer) as monitor:
            monitor.sampler.drop()
            bucket = monitor.pace.bucket
            bucket.samples, bucket.typical, bucket.balance, bucket.early = 9, cost, 1e9, 2**62
            monitor.pace._bares.append(0.010)
            return {step for step in range(1, 65) if monitor.pace.wants(step, 2, 0.0)}

    fast, slow = sampled(0.0004), sampled(0.0009)
    assert len(fast) == 16 and len(slow) == 4
    assert slow < fast
