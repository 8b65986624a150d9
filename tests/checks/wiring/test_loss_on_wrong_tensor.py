"""Backward on another tensor."""

from whyloss.checks.wiring.loss_on_wrong_tensor import LossOnWrongTensor
from whyloss.testing import check_contract, evidence_from, findings


def parameter(**changes):
    return {"requires_grad": True, "held": True, "in_model": True, "reached": True, "kind": "Linear", "shape": [4, 4],
            "dtype": "float32", "unregistered": False, "changed": True} | changes


def loop(*, used=True, reached=4, wants=True, head=None, **more):
    return evidence_from(root={"train.py:40": [{"module": "Net", "parameters": 4, "outputs_used": used, "reached": reached,
                                                "output_wants_grad": wants}] * 5},
                         parameter={"main.weight": head or parameter(), "aux.weight": parameter()}, **more)


def call(counts, producer="main"):
    return [{"function": "cross_entropy", "counts": counts, "producer_module": producer}] * 5


LOST = parameter(reached=False, changed=False)


def test_keeps_the_contract():
    check_contract(LossOnWrongTensor)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in LossOnWrongTensor.needs)


def test_names_the_head_that_is_scored_and_not_trained():
    found, = findings(LossOnWrongTensor(), loop(head=LOST, optimizer={"Adam": {"stepped": True}}, loss_call={
        "train.py:41": call(False), "train.py:42": call(True, "aux")}))

    assert found.cause == "loss-on-wrong-tensor" and found.status == "proven" and found.subject == "main"
    assert str(found.location) == "train.py:41"


def test_names_a_model_whose_output_no_loss_uses():
    found, = findings(LossOnWrongTensor(), loop(used=False, reached=0))

    assert found.subject == "Net" and str(found.location) == "train.py:40"


def test_spares_a_loss_that_is_only_shown_beside_the_trained_one():
    assert findings(LossOnWrongTensor(), loop(loss_call={"train.py:41": call(False), "train.py:42": call(True)})) == []


def test_spares_an_auxiliary_head_that_is_never_scored():
    assert findings(LossOnWrongTensor(), loop(head=LOST, loss_call={"train.py:42": call(True, "aux")})) == []


def test_spares_a_gan_whose_generator_is_used_by_another_loss():
    evidence = loop(used=False, reached=0)
    evidence.add("root", {"module": "Net", "parameters": 4, "outputs_used": True, "reached": 4, "output_wants_grad": True},
                 subject="train.py:50")
    assert findings(LossOnWrongTensor(), evidence) == []


def test_spares_a_teacher_without_gradients():
    assert findings(LossOnWrongTensor(), loop(used=False, reached=0, wants=False)) == []


TARGET = parameter(held=False, changed=False)


def test_names_the_model_that_makes_the_loss_while_the_optimizer_holds_another():
    holds = {"RMSprop": {"stepped": True, "held": 2, "foreign": 2, "foreign_asked": 2, "foreign_names": ["policy.weight"], "place": "train.py:9"}}

    found, = findings(LossOnWrongTensor(), evidence_from(
        root={"train.py:47": [{"module": "target", "parameters": 2, "outputs_used": True, "reached": 2, "output_wants_grad": True}] * 5},
        parameter={"target.weight": TARGET}, optimizer=holds))

    assert found.cause == "loss-on-wrong-tensor" and str(found.location) == "train.py:47" and found.subject == "target"


def test_leaves_a_model_that_is_never_called_to_the_stale_optimizer():
    holds = {"RMSprop": {"stepped": True, "held": 2, "foreign": 2, "foreign_asked": 0, "foreign_names": ["old.weight"], "place": "train.py:9"}}

    assert findings(LossOnWrongTensor(), evidence_from(
        root={"train.py:47": [{"module": "net", "parameters": 2, "outputs_used": True, "reached": 2, "output_wants_grad": True}] * 5},
        parameter={"net.weight": TARGET}, optimizer=holds)) == []


def two_outputs(*, idle=1, validation=0.2):
    row = {"module": "Net", "parameters": 4, "outputs_used": True, "reached": 2, "output_wants_grad": True, "training": True, "idle_outputs": idle}
    return evidence_from(root={"train.py:40": [row] * 5}, parameter={"main.weight": LOST, "aux.weight": parameter()}, loss_made={"train.py:42": [{}]},
                         optimizer={"Adam": {"stepped": True}}, accuracy=[0.9] * 20, val_accuracy=[validation] * 3)


def test_names_an_output_that_is_dropped_while_evaluation_goes_badly():
    found, = findings(LossOnWrongTensor(), two_outputs())

    assert found.subject == "main" and str(found.location) == "train.py:42" and "0.200" in found.measured


def test_spares_a_dropped_output_where_evaluation_goes_well_and_outputs_that_are_used():
    assert findings(LossOnWrongTensor(), two_outputs(validation=0.88)) == []
    assert findings(LossOnWrongTensor(), two_outputs(idle=0)) == []
