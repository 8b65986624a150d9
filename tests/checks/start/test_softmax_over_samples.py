"""Weights normalised over the samples of a batch."""

from whyloss.checks.start.softmax_over_samples import SoftmaxOverSamples
from whyloss.testing import check_contract, evidence_from, findings

POOL = {"function": "softmax", "dim": 0, "shape": [32, 64, 1], "module": "pool.softmax", "chosen": False, "summed": 1}


def weighted(**changes):
    return evidence_from(normalised_over={"net.py:40": [{**POOL, **changes}]}, input={"train.py:9": [{"shape": [32, 1, 128], "floating": True}]},
                         loss_call={"train.py:10": [{"shape": [32, 5]}]})


def test_keeps_the_contract():
    check_contract(SoftmaxOverSamples)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in SoftmaxOverSamples.needs)


def test_leaves_an_axis_that_nobody_named_to_the_exact_test():
    found, = findings(SoftmaxOverSamples(), weighted())

    assert found.cause == "softmax-over-wrong-dimension" and found.status == "suspected" and found.subject == "pool.softmax" and found.step == 0
    assert found.asks == {"unseen": True, "samples": True} and str(found.location) == "net.py:40" and "summed over axis 1" in found.measured


def test_suspects_a_named_axis_over_which_nothing_is_summed():
    assert findings(SoftmaxOverSamples(), weighted(chosen=True))


def test_spares_weights_that_are_summed_over_the_samples():
    assert findings(SoftmaxOverSamples(), weighted(summed=0)) == [] == findings(SoftmaxOverSamples(), weighted(summed=0, chosen=True))


def test_spares_a_named_axis_where_the_sum_is_not_seen():
    assert findings(SoftmaxOverSamples(), weighted(chosen=True, summed=None)) == []


def test_spares_time_in_front_bags_and_square_scores():
    assert findings(SoftmaxOverSamples(), weighted(shape=[64, 32, 1])) == []
    assert findings(SoftmaxOverSamples(), weighted(shape=[32, 32])) == []
    bag = evidence_from(normalised_over={"net.py:40": [POOL]}, input={"train.py:9": [{"shape": [32, 8]}]},
                        loss_call={"train.py:10": [{"shape": [1, 5]}]})
    assert findings(SoftmaxOverSamples(), bag) == []
