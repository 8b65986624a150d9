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
