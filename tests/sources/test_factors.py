"""Frozen zeros that are factors on the way to the loss, and the line that froze a tensor."""

import inspect

import pytest
import torch
from torch import nn
from torch.nn import functional

from whyloss.sources.watch import Watch


def zeros(*shape, trains=False):
    return nn.Parameter(torch.zeros(*shape), requires_grad=trains)


class Branch(nn.Module):
    """What `add` computes from the input, beside a layer that trains."""

    def __init__(self, add, **tensors):
        super().__init__()
        self.main, self.add = nn.Linear(6, 4), add
        for name, tensor in tensors.items():
            setattr(self, name, tensor)

    def forward(self, x):
        return self.main(x) + self.add(self, x)


def factors(model, steps=4):
    watch = Watch().start()
    try:
        optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
        for _ in range(steps):
            loss = model(torch.randn(8, 6)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    finally:
        watch.stop()
    assert watch.errors == []
    return {name: column.last.value for name, column in watch.evidence.by_subject("frozen_factor").items()}, watch


CLOSED = {
    "transposed": (lambda m, x: x @ m.A.T @ m.B.T, {"A": nn.Parameter(torch.randn(2, 6)), "B": zeros(4, 2)}),
    "rank one": (lambda m, x: x @ m.A.t() @ m.B.t(), {"A": nn.Parameter(torch.randn(1, 6)), "B": zeros(4, 1)}),
    "weight of a sum": (lambda m, x: functional.linear(x, m.B @ m.A), {"A": nn.Parameter(torch.randn(2, 6)), "B": zeros(4, 2)}),
    "einsum": (lambda m, x: torch.einsum("or,ri,ni->no", m.B, m.A, x), {"A": nn.Parameter(torch.randn(2, 6)), "B": zeros(4, 2)}),
}


@pytest.mark.parametrize("kind", CLOSED)
def test_a_frozen_zero_matrix_is_a_factor(kind):
    add, tensors = CLOSED[kind]
    found, _ = factors(Branch(add, **tensors))

    assert list(found) == ["B"] and found["B"]["behind"] == ["A"]


SPARED = {
    "it trains": (lambda m, x: x @ m.A.T @ m.B.T, {"A": nn.Parameter(torch.randn(2, 6)), "B": zeros(4, 2, trains=True)}),
    "not zero": (lambda m, x: x @ m.B.T, {"B": nn.Parameter(torch.randn(4, 6), requires_grad=False)}),
    "added": (lambda m, x: m.B[: len(x)], {"B": zeros(8, 4)}),
    "a state": (lambda m, x: m.B @ m.W, {"B": zeros(1, 5), "W": nn.Parameter(torch.randn(5, 4))}),
    "the input of a layer": (lambda m, x: functional.linear(m.B.expand(8, 5), m.W), {"B": zeros(1, 5), "W": nn.Parameter(torch.randn(4, 5))}),
    "a bias": (lambda m, x: functional.linear(x, m.W, m.b), {"W": nn.Parameter(torch.randn(4, 6)), "b": zeros(4)}),
    "not used": (lambda m, x: 0.0, {"B": zeros(4, 6)}),
}


@pytest.mark.parametrize("kind", SPARED)
def test_other_zeros_are_none(kind):
    add, tensors = SPARED[kind]

    assert factors(Branch(add, **tensors))[0] == {}


def test_the_line_that_froze_a_tensor_is_known():
    model = nn.Sequential(nn.Linear(6, 6), nn.Linear(6, 5), nn.Linear(5, 4))
    watch = Watch().start()
    try:
        line = inspect.currentframe().f_lineno
        model[0].requires_grad_(False)
        model[1].weight.requires_grad = False
        model[2].weight.requires_grad_(False)
        model[2].weight.requires_grad_(True)
    finally:
        watch.stop()

    places = [watch.switched.off(p) for p in (model[0].weight, model[1].weight, model[2].weight, model[1].bias)]
    assert [p and int(p.rpartition(":")[2]) - line for p in places] == [1, 2, None, None]
