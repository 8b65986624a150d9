"""Trained tensors in no optimizer."""

from whyloss.checks.wiring.parameters_not_in_optimizer import ParametersNotInOptimizer
from whyloss.testing import check_contract, evidence_from, findings


def parameter(**changes):
    return {"requires_grad": True, "held": True, "in_model": True, "reached": True, "kind": "Linear", "shape": [4, 4],
            "dtype": "float32", "unregistered": False, "changed": True} | changes


def optimizer(**changes):
    return {"class": "Adam", "place": "train.py:9", "held": 2, "foreign": 0, "foreign_names": [], "groups": [{"lr": 0.001}],
            "frozen_held": 0, "stepped": True} | changes


def loop(head, *, body=None, foreign=0, **more):
    return evidence_from(loss=[2.3] * 5, optimizer={"Adam": optimizer(foreign=foreign)},
                         parameter={"body.weight": body or parameter(), "head.weight": head}, **more)


OUTSIDE = parameter(held=False, changed=False)


def test_keeps_the_contract():
    check_contract(ParametersNotInOptimizer)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in ParametersNotInOptimizer.needs)


def test_suspects_a_head_that_was_not_passed_on():
    found, = findings(ParametersNotInOptimizer(), loop(OUTSIDE))

    assert found.cause == "parameters-not-in-optimizer" and found.status == "suspected" and found.subject == "head"
    assert str(found.location) == "train.py:9" and "head.weight" in found.measured


def test_proves_it_where_nothing_that_is_held_can_train():
    found, = findings(ParametersNotInOptimizer(), loop(OUTSIDE, body=parameter(requires_grad=False, reached=False)))

    assert found.status == "proven"


def test_only_notes_it_where_the_run_learned():
    found, = findings(ParametersNotInOptimizer(), loop(OUTSIDE, learned=[{"learned": True, "share": 0.9}]))

    assert found.status == "note"


def test_spares_parameters_that_a_second_optimizer_holds():
    assert findings(ParametersNotInOptimizer(), loop(parameter())) == []


def test_spares_frozen_parameters():
    assert findings(ParametersNotInOptimizer(), loop(parameter(held=False, requires_grad=False, reached=False))) == []


def test_spares_updates_by_hand():
    assert findings(ParametersNotInOptimizer(), loop(parameter(held=False, changed=True))) == []


def test_leaves_a_replaced_model_to_its_own_check():
    assert findings(ParametersNotInOptimizer(), loop(OUTSIDE, foreign=1)) == []


def test_proves_it_where_a_whole_term_of_the_loss_can_train_nothing_else():
    term = {"names": ["head.weight"], "operation": "mean", "value": 0.4}

    found, = findings(ParametersNotInOptimizer(), loop(OUTSIDE, term_outside_optimizers={"train.py:20": [term] * 4}))

    assert found.status == "proven" and found.subject == "head" and "train.py:20" in found.message


def test_only_notes_such_a_term_where_the_run_learned():
    term = {"names": ["head.weight"], "operation": "mean", "value": 0.4}

    found, = findings(ParametersNotInOptimizer(), loop(OUTSIDE, term_outside_optimizers={"train.py:20": [term] * 4},
                                                       learned=[{"learned": True, "share": 0.9}]))

    assert found.status == "note"


def test_a_term_whose_tensors_an_optimizer_holds_later_is_no_proof():
    term = {"names": ["head.weight", "body.weight"], "operation": "mean", "value": 0.4}

    found, = findings(ParametersNotInOptimizer(), loop(OUTSIDE, term_outside_optimizers={"train.py:20": [term] * 4}))

    assert found.status == "suspected"


def chain(**more):
    return evidence_from(loss=[2.3] * 5, optimizer={"Adam": optimizer()}, layer={name: [{"kind": "Linear"}] for name in ("first", "middle", "last")},
                         parameter={"first.weight": parameter(), "middle.weight": OUTSIDE, "last.weight": parameter()}
                         | more.pop("parameters", {}), **more)


def test_asks_for_longer_where_fresh_layers_lie_between_trained_ones():
    found, = findings(ParametersNotInOptimizer(), chain())

    assert found.status == "suspected" and found.asks == {"between": True}


def test_does_not_where_something_was_loaded_or_trained_before():
    norm = parameter(kind="LayerNorm", shape=[4], initial={"std": 0.2})

    for evidence in (chain(state_loaded={"train.py:3": [{}]}), chain(parameters={"norm.weight": norm})):
        found, = findings(ParametersNotInOptimizer(), evidence)
        assert found.asks == {}
