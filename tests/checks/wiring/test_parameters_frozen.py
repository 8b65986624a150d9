"""Frozen where training was meant."""

from whyloss.checks.wiring.parameters_frozen import ParametersFrozen
from whyloss.testing import check_contract, evidence_from, findings


def parameter(**changes):
    return {"requires_grad": True, "held": True, "in_model": True, "reached": True, "kind": "Linear", "shape": [4, 4],
            "dtype": "float32", "unregistered": False, "changed": True} | changes


def optimizer(**changes):
    return {"class": "Adam", "place": "train.py:9", "held": 2, "foreign": 0, "foreign_names": [], "groups": [{"lr": 0.001}],
            "frozen_held": 0, "stepped": True} | changes


FROZEN = parameter(requires_grad=False, reached=False, changed=False)


def loop(*, middle=FROZEN, held=None, stem=None, optimizer_facts=(), trainable=4, **more):
    return evidence_from(loss=[2.3] * 5, optimizer={"Adam": optimizer(**dict(optimizer_facts))},
                         root={"train.py:40": [{"parameters": 10, "trainable": trainable}]},
                         parameter={"stem.weight": stem or held or parameter(), "mid1.weight": middle | {"held": False},
                                    "head.weight": held or parameter()}, **more)


def test_keeps_the_contract():
    check_contract(ParametersFrozen)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in ParametersFrozen.needs)


def test_proves_that_all_the_optimizer_holds_is_frozen():
    found, = findings(ParametersFrozen(), loop(held=FROZEN, optimizer_facts={"frozen_held": 2}))

    assert found.cause == "parameters-frozen" and found.status == "proven" and found.subject == "stem"
    assert str(found.location) == "train.py:9" and "all 2 tensors that Adam holds" in found.measured


def test_suspects_frozen_layers_in_a_run_that_does_not_get_far():
    found, = findings(ParametersFrozen(), loop(learned=[{"learned": True, "share": 0.4}]))

    assert found.status == "suspected" and found.subject == "mid1"


def test_only_notes_fine_tuning_on_purpose():
    found, = findings(ParametersFrozen(), loop(learned=[{"learned": True, "share": 0.9}]))

    assert found.status == "note"


def test_spares_a_model_without_frozen_layers():
    assert findings(ParametersFrozen(), loop(middle=parameter())) == []


def test_spares_a_target_network_that_is_frozen_as_a_whole():
    assert findings(ParametersFrozen(), loop(trainable=0)) == []


def test_spares_norm_layers_and_fixed_position_codes():
    assert findings(ParametersFrozen(), loop(middle=FROZEN | {"kind": "BatchNorm1d"})) == []
    assert findings(ParametersFrozen(), loop(middle=FROZEN | {"kind": "tensor"})) == []


def test_spares_adapters_that_do_not_move_either():
    assert findings(ParametersFrozen(), loop(held=parameter(changed=False))) == []


def test_spares_an_optimizer_whose_parameters_were_frozen_after_its_work():
    evidence = loop(middle=parameter(), held=FROZEN | {"reached": True}, optimizer_facts={"frozen_held": 2},
                    step={"Adam": [{"with_gradient": 2}] * 9})
    assert findings(ParametersFrozen(), evidence) == []


def test_only_notes_a_frozen_body_under_a_head_that_learns_something():
    found, = findings(ParametersFrozen(), loop(stem=FROZEN, learned=[{"learned": True, "share": 0.4}]))

    assert found.status == "note"
