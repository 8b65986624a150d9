"""A layer that forward never calls."""

from whyloss.checks.wiring.parameters_unused import ParametersUnused
from whyloss.testing import check_contract, evidence_from, findings


def parameter(**changes):
    return {"requires_grad": True, "held": True, "in_model": True, "reached": True, "kind": "Linear", "shape": [4, 4],
            "dtype": "float32", "unregistered": False, "changed": True} | changes


def loop(never="extra", reached=False, **more):
    return evidence_from(parameter={"extra.weight": parameter(reached=reached), "fc.weight": parameter()},
                         layer={"fc": {"kind": "Linear"}}, module_never_called={never: "Linear"} if never else {}, **more)


def test_keeps_the_contract():
    check_contract(ParametersUnused)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in ParametersUnused.needs)


def test_notes_a_layer_that_is_never_called():
    found, = findings(ParametersUnused(), loop())

    assert found.cause == "parameters-unused" and found.status == "note" and found.subject == "extra"
    assert "1 of 2 trainable tensors" in found.measured


def test_suspects_it_where_the_run_did_not_learn():
    found, = findings(ParametersUnused(), loop(learned=[{"learned": False, "share": 0.0}]))

    assert found.status == "suspected"


def test_spares_experts_that_get_tokens_in_some_step():
    assert findings(ParametersUnused(), loop(never=None, reached=True)) == []


def test_spares_the_output_projection_that_attention_reads_without_calling():
    evidence = evidence_from(parameter={"attn.out_proj.weight": parameter(reached=False)}, layer={"fc": {"kind": "Linear"}},
                             module_never_called={"attn.out_proj": "Linear"})
    assert findings(ParametersUnused(), evidence) == []


def test_leaves_a_cut_to_its_own_check():
    assert findings(ParametersUnused(), loop(cut={"train.py:20": [{"operation": "detach"}]})) == []
