"""A loss term that changes nothing."""

from whyloss.checks.wiring.loss_term_without_gradient import LossTermWithoutGradient
from whyloss.testing import check_contract, evidence_from, findings


def parameter(**changes):
    return {"requires_grad": True, "held": True, "in_model": True, "reached": True, "kind": "Linear", "shape": [4, 4],
            "dtype": "float32", "unregistered": False, "changed": True} | changes


def loop(**more):
    more.setdefault("parameter", {"fc.weight": parameter()})
    return evidence_from(loss=[1.0, 0.9, 0.8, 0.7], optimizer={"Adam": {"stepped": True}}, step={"Adam": [{}] * 8}, **more)


def term(value, optimizers=("Adam",)):
    return {"value": value, "cut": {"operation": "argmax", "place": "train.py:12", "module": "", "grad_enabled": True}, "module": "",
            "operation": "mean", "optimizers": list(optimizers)}


def left_out(names, whole):
    return [{"names": names, "whole": whole, "terms": 3, "operation": "add", "value": 2.0}] * 5


LOST = {"score.weight": parameter(), "angle.weight": parameter(reached=False, changed=False)}


def test_keeps_the_contract():
    check_contract(LossTermWithoutGradient)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in LossTermWithoutGradient.needs)


def test_names_the_operation_that_takes_the_terms_gradient():
    found, = findings(LossTermWithoutGradient(), loop(gradless_term={"train.py:14": [term(0.9), term(0.5), term(0.3)]}))

    assert found.cause == "loss-term-without-gradient" and found.status == "proven" and found.step == 0
    assert str(found.location) == "train.py:12" and found.subject == "loss term at train.py:14"


def test_spares_a_term_that_is_always_the_same_or_zero():
    assert findings(LossTermWithoutGradient(), loop(gradless_term={"train.py:14": [term(0.9)] * 8})) == []
    assert findings(LossTermWithoutGradient(), loop(gradless_term={"train.py:14": [term(0.0)] * 8})) == []


def test_spares_a_critics_value_in_the_step_of_another_optimizer():
    assert findings(LossTermWithoutGradient(), loop(gradless_term={"train.py:14": [term(v / 10, ["Critic"]) for v in range(8)]})) == []


def test_names_a_number_that_left_torch():
    numbers = [{"value": 0.3 * v, "left": float(v), "at": "train.py:11", "operation": "item", "optimizers": ["Adam"]} for v in range(1, 8)]
    found, = findings(LossTermWithoutGradient(), loop(number_term={"train.py:14": numbers}))

    assert str(found.location) == "train.py:11"


def test_spares_a_number_that_only_happens_to_change():
    numbers = [{"value": 0.3 * v * v, "left": float(v), "at": "train.py:11", "operation": "item", "optimizers": ["Adam"]} for v in range(1, 8)]
    assert findings(LossTermWithoutGradient(), loop(number_term={"train.py:14": numbers})) == []


def test_names_the_sum_that_is_shown_and_not_differentiated():
    found, = findings(LossTermWithoutGradient(), loop(parameter=LOST, scalar_left_out={"train.py:30": left_out(["angle.weight"], True)}))

    assert found.subject == "angle" and str(found.location) == "train.py:30"


def test_leaves_a_single_loss_beside_it_to_loss_on_wrong_tensor():
    assert findings(LossTermWithoutGradient(), loop(parameter=LOST, scalar_left_out={"train.py:30": left_out(["angle.weight"], False)})) == []


def test_spares_a_loss_whose_parameters_another_backward_reaches():
    assert findings(LossTermWithoutGradient(), loop(scalar_left_out={"train.py:30": left_out(["fc.weight"], True)})) == []
