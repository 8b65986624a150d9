"""A training that goes on after a learning-rate sweep."""

from whyloss.checks.wiring.range_test_not_undone import RangeTestNotUndone
from whyloss.testing import check_contract, evidence_from, findings

SWEEP = [1e-7 * 1.6**i for i in range(40)]


def evidence(rates, after=150.0, norm=40.0, end=50.0):
    count = len(rates)
    losses = {i: 2.3 for i in range(count)} | {i: after for i in range(40, count)} | {i: end for i in range(count - 8, count)}
    return evidence_from(learning_rate={"Adam.group0": rates}, loss={"train.py:43": losses},
                         weight_norm={"a.weight": {0: 2.0, 20: 2.0, 40: norm}})


def test_keeps_the_contract():
    check_contract(RangeTestNotUndone)


def test_proves_that_the_training_began_where_the_sweep_ended():
    found, = findings(RangeTestNotUndone(), evidence(SWEEP + [1e-2] * 40))

    assert found.cause == "learning-rate-too-high" and found.status == "proven" and found.step == 39 and found.subject == "Adam.group0"


def test_spares_restored_weights_and_a_training_that_recovered():
    assert findings(RangeTestNotUndone(), evidence(SWEEP + [1e-2] * 40, norm=2.0)) == []
    assert findings(RangeTestNotUndone(), evidence(SWEEP + [1e-2] * 40, end=0.1)) == []


def test_spares_a_warm_up_and_a_cycle():
    assert findings(RangeTestNotUndone(), evidence(SWEEP + [SWEEP[-1]] * 40)) == []
    assert findings(RangeTestNotUndone(), evidence(([0.01 * i for i in range(1, 21)] * 4)[:80])) == []
