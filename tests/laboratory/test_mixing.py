"""The line where samples first mix: the comparison behind `batch-dependence`."""

import torch

from whyloss.laboratory.experiments.dependence import _moved
from whyloss.laboratory.mixing import Ear, first_line


def heard(function, x):
    ear = Ear()
    with ear:
        function(x)
    return ear


def line_of(function, row=3):
    x = torch.arange(48.0).reshape(8, 6).sin()
    other = x.clone()
    other[row] += 0.7
    return first_line(heard(function, x), heard(function, other), 8, row, _moved)


def number(line):
    return int(line.rpartition(":")[2])


def test_names_the_line_that_took_the_statistic():
    def forward(x):
        h = x * 2
        mean = h.mean(dim=0, keepdim=True)
        return (h - mean).tanh()

    assert number(line_of(forward)) == forward.__code__.co_firstlineno + 2


def test_names_the_line_of_a_softmax_over_the_samples():
    def forward(x):
        h = x * 2
        weights = torch.softmax(h, 0)
        return (h * weights).sum(1)

    assert number(line_of(forward)) == forward.__code__.co_firstlineno + 2


def test_names_none_where_samples_stay_apart():
    assert line_of(lambda x: ((x - x.mean(1, keepdim=True)) * x.softmax(1)).sum(1)) is None
