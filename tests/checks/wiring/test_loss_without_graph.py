"""backward() on a tensor without a graph."""

from whyloss.checks.wiring.loss_without_graph import LossWithoutGraph
from whyloss.testing import check_contract, evidence_from, findings


def row(**changes):
    return {"raises": True, "frozen": 0, "trainable": 4, "depends": False, "cut": None, "made": "train.py:20", "names": [], "module": "Net"} | changes


def cut(operation, grad_enabled=True, **more):
    return {"operation": operation, "place": "train.py:18", "module": "", "grad_enabled": grad_enabled} | more


def loop(seen, *, times=1, raised=True, backward=0):
    more = {"raised": [{"type": "RuntimeError", "message": "", "place": None}]} if raised else {}
    return evidence_from(gradient_free_loss={"train.py:21": [seen] * times}, totals=[{"backward": backward}], **more)


def test_keeps_the_contract():
    check_contract(LossWithoutGraph)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in LossWithoutGraph.needs)


def test_names_the_frozen_layers_when_backward_raises():
    found, = findings(LossWithoutGraph(), loop(row(frozen=4, trainable=0, names=["body.weight", "body.bias", "head.weight"])))

    assert found.cause == "parameters-frozen" and found.status == "proven" and found.subject == "body" and found.step == 0


def test_names_the_line_that_cuts_the_path():
    found, = findings(LossWithoutGraph(), loop(row(depends=True, cut=cut("detach"), names=["fc.weight"])))

    assert found.cause == "graph-detached" and str(found.location) == "train.py:18" and found.subject == "fc"


def test_names_the_line_that_joins_a_gradient_free_stretch():
    found, = findings(LossWithoutGraph(), loop(row(depends=True, cut=cut("no_grad", False, enters="train.py:19"))))

    assert found.cause == "graph-detached" and str(found.location) == "train.py:19"


def test_names_argmax():
    found, = findings(LossWithoutGraph(), loop(row(depends=True, cut=cut("argmax"))))

    assert found.cause == "non-differentiable-operation"


def test_names_a_loss_of_another_tensor():
    found, = findings(LossWithoutGraph(), loop(row()))

    assert found.cause == "loss-on-wrong-tensor" and str(found.location) == "train.py:20"


def test_names_a_number_wrapped_anew():
    found, = findings(LossWithoutGraph(), loop(row(raises=False, cut=cut("item")), times=5, raised=False, backward=5))

    assert found.cause == "graph-detached" and "5 times" in found.measured


def test_spares_a_leaf_that_is_optimised_itself():
    assert findings(LossWithoutGraph(), loop(row(raises=False), times=50, raised=False, backward=50)) == []


def test_spares_a_loop_that_catches_the_error_and_trains_on():
    assert findings(LossWithoutGraph(), loop(row(depends=True, cut=cut("detach")), raised=False, backward=200)) == []
