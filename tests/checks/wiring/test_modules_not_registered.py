"""Layers in a plain list."""

from whyloss.checks.wiring.modules_not_registered import ModulesNotRegistered
from whyloss.testing import check_contract, evidence_from, findings


def parameter(**changes):
    return {"requires_grad": True, "held": True, "in_model": True, "reached": True, "kind": "Linear", "shape": [4, 4],
            "dtype": "float32", "unregistered": False, "changed": True} | changes


def optimizer(**changes):
    return {"class": "Adam", "place": "train.py:9", "held": 2, "foreign": 0, "foreign_names": [], "groups": [{"lr": 0.001}],
            "frozen_held": 0, "stepped": True} | changes


def loop(hidden, **more):
    return evidence_from(loss=[2.3] * 5, optimizer={"Adam": optimizer()},
                         parameter={"out.weight": parameter(), "hidden[0].weight": hidden}, **more)


HIDDEN = parameter(unregistered=True, held=False, changed=False)


def test_keeps_the_contract():
    check_contract(ModulesNotRegistered)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in ModulesNotRegistered.needs)


def test_names_the_layers_in_the_list():
    found, = findings(ModulesNotRegistered(), loop(HIDDEN))

    assert found.cause == "modules-not-registered" and found.status == "proven" and found.subject == "hidden[0]"
    assert str(found.location) == "train.py:9" and "hidden in nn.ModuleList" in found.remedies[0]


def test_spares_layers_of_a_module_list():
    assert findings(ModulesNotRegistered(), loop(parameter())) == []


def test_spares_a_list_whose_parameters_were_passed_by_hand():
    assert findings(ModulesNotRegistered(), loop(parameter(unregistered=True))) == []


def test_spares_a_hidden_teacher():
    assert findings(ModulesNotRegistered(), loop(HIDDEN | {"reached": False})) == []
    assert findings(ModulesNotRegistered(), loop(HIDDEN | {"requires_grad": False})) == []


def test_only_notes_it_where_the_run_got_to_the_floor():
    found, = findings(ModulesNotRegistered(), loop(HIDDEN, learned=[{"learned": True, "share": 0.99}]))

    assert found.status == "note"
