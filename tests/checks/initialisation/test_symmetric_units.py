"""Equal units."""

from whyloss.checks.initialisation.symmetric_units import SymmetricUnits
from whyloss.testing import check_contract, evidence_from, findings


def parameter(name, **changes):
    return {name: [{"requires_grad": True, "held": True, "in_model": True, "reached": True, "kind": "Linear", "shape": [64, 64], "dtype": "float32",
                    "changed": True, "initial": {"zero": False, "std": 0.07, "norm": 4.6, "fan_in": 64, "row_spread": 0.99},
                    "final_row_spread": 0.99} | changes]}


EVEN = {"zero": False, "std": 0.0, "norm": 3.2, "fan_in": 64, "row_spread": 1e-7}


def test_keeps_the_contract():
    check_contract(SymmetricUnits)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in SymmetricUnits.needs)


def test_proves_units_that_stay_equal():
    found, = findings(SymmetricUnits(), evidence_from(parameter=parameter("fc1.weight", initial=EVEN, final_row_spread=1e-7)))

    assert found.cause == "symmetric-initialisation" and found.status == "proven" and found.subject == "fc1.weight" and found.step == 0


def test_suspects_constant_weights_that_drift_apart():
    found, = findings(SymmetricUnits(), evidence_from(parameter=parameter("fc1.weight", initial=EVEN)))

    assert found.status == "suspected"


def test_spares_constant_weights_where_dropout_breaks_the_symmetry():
    evidence = evidence_from(parameter=parameter("fc1.weight", initial=EVEN), layer={"drop": [{"kind": "Dropout"}]})

    assert findings(SymmetricUnits(), evidence) == []


def test_spares_single_rows_norm_gains_and_a_zero_head_that_moves():
    assert findings(SymmetricUnits(), evidence_from(parameter=parameter("out.weight", shape=[1, 64], initial=EVEN))) == []
    assert findings(SymmetricUnits(), evidence_from(parameter=parameter("norm.weight", kind="LayerNorm", initial=EVEN))) == []
    assert findings(SymmetricUnits(), evidence_from(parameter=parameter("head.weight", initial=EVEN | {"zero": True}))) == []


def test_spares_a_training_that_learns():
    assert findings(SymmetricUnits(), evidence_from(parameter=parameter("fc1.weight", initial=EVEN), learned=[{"learned": True, "share": 0.9}])) == []
