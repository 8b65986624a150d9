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
