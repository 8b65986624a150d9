"""Zero factors that block each other."""

from whyloss.checks.initialisation.all_zero_weights import AllZeroWeights
from whyloss.testing import check_contract, evidence_from, findings


def parameter(name, **changes):
    return {name: [{"requires_grad": True, "held": True, "in_model": True, "reached": True, "kind": "Linear", "shape": [64, 64], "dtype": "float32",
                    "changed": True, "initial": {"zero": False, "std": 0.07, "norm": 4.6, "fan_in": 64, "row_spread": 0.99},
                    "final_row_spread": 0.99} | changes]}


ZERO = {"changed": False, "initial": {"zero": True, "std": 0.0, "norm": 0.0, "fan_in": 64, "row_spread": 0.0}}


def test_keeps_the_contract():
    check_contract(AllZeroWeights)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in AllZeroWeights.needs)


def test_finds_two_factors_that_stay_zero():
    found, = findings(AllZeroWeights(), evidence_from(parameter=parameter("lora.A", **ZERO) | parameter("lora.B", **ZERO),
                                                      grad_state={"lora.A": ["zero"] * 5, "lora.B": ["zero"] * 5}))

    assert found.cause == "zero-initialisation" and found.status == "proven" and found.subject == "lora.A" and found.step == 0


def test_spares_lora_whose_b_moves():
    evidence = evidence_from(parameter=parameter("lora.A") | parameter("lora.B", **ZERO | {"changed": True}),
                             grad_state={"lora.A": ["zero"] + ["finite"] * 4, "lora.B": ["finite"] * 5})

    assert findings(AllZeroWeights(), evidence) == []


def test_spares_one_unused_zero_table():
    assert findings(AllZeroWeights(), evidence_from(parameter=parameter("table.weight", **ZERO), grad_state={"table.weight": ["zero"] * 5})) == []


def test_does_not_judge_at_step_0_alone():
    evidence = evidence_from(parameter=parameter("a", **ZERO) | parameter("b", **ZERO), grad_state={"a": ["zero"], "b": ["zero"]})

    assert findings(AllZeroWeights(), evidence) == []
