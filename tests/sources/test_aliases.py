"""A tensor that is another object over a traced result is that result: the line that lost the gradient stays known."""

import torch
from torch import nn
from torch.autograd import Variable

from whyloss.sources.watch import Watch


def cuts(between):
    torch.manual_seed(3)
    encoder, decoder = nn.Linear(4, 3), nn.Linear(3, 1)
    optimizer = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
    watch = Watch().start()
    try:
        for _ in range(4):
            loss = decoder(between(encoder(torch.randn(8, 4)))).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    finally:
        watch.stop()
    assert not watch.errors, watch.errors
    return [row["operation"] for column in watch.evidence.by_subject("cut").values() for row in column.values[:1]]


def test_a_variable_over_the_data_of_a_result_is_a_cut():
    assert cuts(lambda state: Variable(state.data)) == ["data"]


def test_a_state_that_is_passed_on_is_none():
    assert cuts(lambda state: state) == []
