"""An optimizer of another model."""

from whyloss.checks.wiring.stale_optimizer_parameters import StaleOptimizerParameters
from whyloss.testing import check_contract, evidence_from, findings


def parameter(**changes):
    return {"requires_grad": True, "held": True, "in_model": True, "reached": True, "kind": "Linear", "shape": [4, 4],
            "dtype": "float32", "unregistered": False, "changed": True} | changes


def optimizer(**changes):
    return {"class": "Adam", "place": "train.py:9", "held": 2, "foreign": 0, "foreign_names": [], "groups": [{"lr": 0.001}],
            "frozen_held": 0, "stepped": True} | changes


def loop(*, foreign=2, held=False, changed=False):
    old = {"template.weight": parameter(in_model=False, reached=False)} if foreign else {}
    return evidence_from(
        loss=[2.3] * 5, optimizer={"SGD": optimizer(foreign=foreign, foreign_names=["template.weight", "template.bias"][:foreign])},
        parameter={"fc.weight": parameter(held=held, changed=changed), "fc.bias": parameter(held=held, changed=changed)} | old)


def test_keeps_the_contract():
    check_contract(StaleOptimizerParameters)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in StaleOptimizerParameters.needs)


def test_names_the_optimizer_and_the_line_that_made_it():
    found, = findings(StaleOptimizerParameters(), loop())

    assert found.cause == "stale-optimizer-parameters" and found.status == "proven" and found.subject == "SGD"
    assert str(found.location) == "train.py:9"
    assert "2 of 2 tensors" in found.measured and "fc.weight, fc.bias" in found.measured


def test_finds_a_single_replaced_head():
    assert findings(StaleOptimizerParameters(), loop(foreign=1))


def test_spares_an_optimizer_of_the_model_in_use():
    assert findings(StaleOptimizerParameters(), loop(foreign=0, held=True, changed=True)) == []


def test_spares_old_tensors_where_every_trained_one_is_held():
    assert findings(StaleOptimizerParameters(), loop(held=True, changed=True)) == []


def test_spares_tensors_that_are_updated_by_hand():
    assert findings(StaleOptimizerParameters(), loop(changed=True)) == []


def test_names_the_optimizer_of_the_last_stage():
    evidence = loop()
    evidence.add("optimizer", optimizer(foreign=2, foreign_names=["net.weight"], place="train.py:30"), subject="SGD#2")
    for step, name in [(0, "SGD"), (4, "SGD"), (5, "SGD#2"), (99, "SGD#2")]:
        evidence.add("step", {"tainted": 0, "held": 2}, subject=name, step=step)

    found, = findings(StaleOptimizerParameters(), evidence)

    assert found.subject == "SGD#2" and str(found.location) == "train.py:30"
