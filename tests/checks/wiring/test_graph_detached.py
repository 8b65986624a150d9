"""A cut in front of what should train."""

from whyloss.checks.wiring.graph_detached import GraphDetached
from whyloss.testing import check_contract, evidence_from, findings


def parameter(**changes):
    return {"requires_grad": True, "held": True, "in_model": True, "reached": True, "kind": "Linear", "shape": [4, 4],
            "dtype": "float32", "unregistered": False, "changed": True} | changes


def optimizer(**changes):
    return {"class": "Adam", "place": "train.py:9", "held": 2, "foreign": 0, "foreign_names": [], "groups": [{"lr": 0.001}],
            "frozen_held": 0, "stepped": True} | changes


LOST = parameter(reached=False, changed=False)


def loop(encoder=LOST, **more):
    return evidence_from(loss=[2.3] * 5, optimizer={"Adam": optimizer()},
                         parameter={"encoder.0.weight": encoder, "head.weight": parameter()}, **more)


def cut(operation="detach", grad=True, enters=None):
    return {"train.py:24": [{"operation": operation, "module": "", "grad_enabled": grad, "enters": enters}] * 5}


def test_keeps_the_contract():
    check_contract(GraphDetached)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in GraphDetached.needs)


def test_names_the_detach_and_what_lies_in_front():
    found, = findings(GraphDetached(), loop(cut=cut()))

    assert found.cause == "graph-detached" and found.status == "proven" and found.subject == "encoder.0"
    assert str(found.location) == "train.py:24" and "detach at train.py:24" in found.measured


def test_names_the_line_behind_a_stretch_without_gradients():
    found, = findings(GraphDetached(), loop(cut=cut("linear", grad=False, enters="train.py:28")))

    assert str(found.location) == "train.py:28" and "no_grad" in found.message


def test_names_the_way_out_of_torch():
    found, = findings(GraphDetached(), loop(left_torch={"train.py:34": [{"operation": "tolist", "module": ""}] * 5}))

    assert str(found.location) == "train.py:34" and "tolist" in found.measured


def test_spares_stop_gradients_where_everything_is_reached():
    assert findings(GraphDetached(), loop(encoder=parameter(), cut=cut())) == []


def test_spares_a_target_network_that_no_optimizer_holds():
    assert findings(GraphDetached(), loop(encoder=LOST | {"held": False}, cut=cut())) == []


def test_spares_frozen_layers_under_no_grad():
    assert findings(GraphDetached(), loop(encoder=LOST | {"requires_grad": False}, cut=cut("linear", grad=False))) == []


def test_says_nothing_without_a_cut():
    assert findings(GraphDetached(), loop()) == []


def test_leaves_argmax_to_its_own_check():
    assert findings(GraphDetached(), loop(cut=cut("argmax"))) == []
