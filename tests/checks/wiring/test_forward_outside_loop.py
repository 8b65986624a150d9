"""One prediction for all steps."""

from whyloss.checks.wiring.forward_outside_loop import ForwardOutsideLoop
from whyloss.testing import check_contract, evidence_from, findings


def parameter(**changes):
    return {"requires_grad": True, "held": True, "in_model": True, "reached": True, "kind": "Linear", "shape": [4, 4],
            "dtype": "float32", "unregistered": False, "changed": True} | changes


def loop(*, losses=(2.3,) * 10, retain=True, forwards=1, changed=True, same_step=False):
    steps = [0] * 10 if same_step else range(10)
    evidence = evidence_from(loss=list(losses), parameter={"weight": parameter(changed=changed)},
                             root={"train.py:5": {at: {"parameters": 2} for at in range(forwards)}})
    for at, step in enumerate(steps):
        evidence.add("backward", {"retain_graph": retain}, subject="train.py:9", step=step)
        evidence.add("loss", losses[at], subject="train.py:9", step=step)
    return evidence


def test_keeps_the_contract():
    check_contract(ForwardOutsideLoop)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in ForwardOutsideLoop.needs)


def test_names_the_backward_that_uses_one_graph_again():
    found, = findings(ForwardOutsideLoop(), loop())

    assert found.cause == "forward-outside-loop" and found.status == "proven"
    assert str(found.location) == "train.py:9" and "loss 2.3 in each" in found.measured


def test_finds_one_forward_pass_with_new_targets():
    found, = findings(ForwardOutsideLoop(), loop(losses=[2.3 + at for at in range(10)]))

    assert "1 forward pass" in found.measured


def test_spares_a_forward_pass_in_each_step():
    assert findings(ForwardOutsideLoop(), loop(retain=False, forwards=10)) == []
    assert findings(ForwardOutsideLoop(), loop(losses=[2.3 + at for at in range(10)], forwards=10)) == []


def test_spares_weights_that_do_not_move_and_several_losses_of_one_step():
    assert findings(ForwardOutsideLoop(), loop(changed=False)) == []
    assert findings(ForwardOutsideLoop(), loop(same_step=True)) == []
