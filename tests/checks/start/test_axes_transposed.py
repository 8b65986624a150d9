"""Axes that are not what the layer takes them for."""

from whyloss.checks.start.axes_transposed import AxesTransposed
from whyloss.testing import check_contract, evidence_from, findings

PICTURES = {"operation": "reshape", "module": "", "before": [48, 14, 18, 3], "after": [48, 3, 14, 18], "kind": "batch"}


def evidence(learned=True, share=0.95, **more):
    return evidence_from(loss={"run": [1.0]}, learned=[{"learned": learned, "share": share}], **more)


def conv(shape="(50, 16, 16)"):
    return {"layer": {"conv": [{"kind": "Conv1d", "in": shape, "out": "(50, 48, 16)"}]},
            "input": {"train.py:42": [{"shape": [50, 16, 16], "floating": True}]}}


def test_keeps_the_contract():
    check_contract(AxesTransposed)


def test_proves_a_reshape_that_stands_for_a_permute():
    fed = {"train.py:50": [{"shape": [48, 3, 14, 18]}]}

    found, = findings(AxesTransposed(), evidence(axis_lost={"train.py:48": {3: PICTURES}}, input=fed))

    assert found.status == "proven" and found.subject == "input" and found.step == 3 and str(found.location) == "train.py:48"


def test_spares_a_reshape_of_something_the_model_is_not_fed():
    fed = {"train.py:50": [{"shape": [48, 1, 8, 8]}]}

    assert findings(AxesTransposed(), evidence(axis_lost={"train.py:48": [PICTURES]}, input=fed)) == []


def test_suspects_the_first_layer_of_a_training_that_learns_little():
    found, = findings(AxesTransposed(), evidence(share=0.34, **conv()))

    assert found.status == "suspected" and found.subject == "conv" and found.asks["module"] == "conv"


def test_spares_a_training_that_learns_well():
    assert findings(AxesTransposed(), evidence(share=0.95, **conv())) == []


def test_spares_layers_that_read_what_other_layers_made():
    assert findings(AxesTransposed(), evidence(share=0.34, **conv("(50, 32, 8)"))) == []
