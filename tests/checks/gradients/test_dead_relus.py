"""Dead units."""

from whyloss.checks.gradients.dead_relus import DeadRelus
from whyloss.testing import check_contract, evidence_from, findings

LOSS = [2.3, 2.3, 2.3]


def net(shares, **more):
    return evidence_from(dead_over_batches={"hidden:relu": shares}, activation_place={"hidden:relu": ["net.py:21"]}, **{"loss": LOSS} | more)


def test_keeps_the_contract():
    check_contract(DeadRelus)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in DeadRelus.needs)


def test_proves_a_layer_that_is_dead_from_the_start():
    found, = findings(DeadRelus(), net([1.0] * 5))

    assert found.cause == "dead-relus" and found.status == "proven" and found.step == 0
    assert found.subject == "hidden" and str(found.location) == "net.py:21"


def test_suspects_units_that_died_and_names_the_spike():
    norms = {"train.py:39": [0.2] * 6 + [900.0] + [0.0] * 3}
    found, = findings(DeadRelus(), net([0.1] * 7 + [0.98] * 3, grad_norm_total=norms, loss=[2.3] * 10))

    assert found.status == "suspected" and found.step == 7 and "at step 6" in found.measured
    assert found.asks == {"rate_factor": 0.1}


def test_spares_a_quarter_dead_and_a_sparse_net_that_learns():
    assert findings(DeadRelus(), net([0.2, 0.23, 0.25])) == []
    assert findings(DeadRelus(), net([0.8, 0.96, 0.97], learned=[{"learned": True, "share": 0.9}])) == []


def test_spares_units_killed_by_nan_weights():
    assert findings(DeadRelus(), net([0.1, 0.1, 1.0, 1.0], first_non_finite=[{"step": 1}])) == []


def test_proves_a_whole_layer_around_which_the_rest_learns():
    def learned(shares, **more):
        return net(shares, **{"learned": [{"learned": True, "share": 0.6}], "activation_layer": {"hidden:relu": ["tower.0"]},
                              "relu_units": {"hidden:relu": [24]}, "loss": [1.0 / (k + 1) for k in range(12)]} | more)
    found, = findings(DeadRelus(), learned([1.0] * 12))
    assert found.cause == "dead-relus" and found.status == "proven" and found.subject == "tower.0" and found.step == 0

    assert findings(DeadRelus(), learned([1.0] * 11 + [0.99])) == []                             # one unit came alive
    assert findings(DeadRelus(), learned([1.0] * 4)) == []                                        # seen in the first steps only
    assert findings(DeadRelus(), learned([1.0] * 12, relu_units={"hidden:relu": [1]})) == []     # a gate, a hinge
    assert findings(DeadRelus(), learned([1.0] * 12, activation_layer={})) == []                  # of no layer: part of a loss
    assert findings(DeadRelus(), learned([1.0] * 12, loss=[1.0 / (k + 1) for k in range(40)])) == []  # not looked at since
