"""Large starting weights."""

from whyloss.checks.initialisation.weights_too_large import WeightsTooLarge
from whyloss.testing import check_contract, evidence_from, findings


def parameter(name, **changes):
    return {name: [{"requires_grad": True, "held": True, "in_model": True, "reached": True, "kind": "Linear", "shape": [64, 64], "dtype": "float32",
                    "changed": True, "initial": {"zero": False, "std": 0.07, "norm": 4.6, "fan_in": 64, "row_spread": 0.99},
                    "final_row_spread": 0.99} | changes]}


LARGE = {"zero": False, "std": 1.0, "norm": 64.0, "fan_in": 64, "row_spread": 0.99}
CALL = {"function": "cross_entropy", "std": 600.0, "target_std": 2.8, "counts": True}


def test_keeps_the_contract():
    check_contract(WeightsTooLarge)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in WeightsTooLarge.needs)


def test_suspects_unit_variance_with_a_huge_first_loss():
    found, = findings(WeightsTooLarge(), evidence_from(parameter=parameter("fc1.weight", initial=LARGE), loss=[1451.0], chance=[2.3],
                                                       loss_call={"t.py:3": [CALL]}))

    assert found.cause == "initial-weights-too-large" and found.status == "suspected" and found.subject == "fc1.weight" and found.step == 0


def test_suspects_saturated_layers():
    evidence = evidence_from(parameter=parameter("fc1.weight", initial=LARGE), loss=[1.7], saturated_share={"a": [0.7], "b": [0.8]})

    assert len(findings(WeightsTooLarge(), evidence)) == 1


def test_spares_the_default_and_embeddings():
    assert findings(WeightsTooLarge(), evidence_from(parameter=parameter("fc1.weight"), loss=[3.6], chance=[2.3], loss_call={"t.py:3": [CALL]})) == []
    table = parameter("emb.weight", kind="Embedding", initial=LARGE)
    assert findings(WeightsTooLarge(), evidence_from(parameter=table, loss=[9.0], chance=[2.3], loss_call={"t.py:3": [CALL]})) == []


def test_spares_large_weights_that_start_well():
    evidence = evidence_from(parameter=parameter("fc1.weight", initial=LARGE), loss=[2.4], chance=[2.3], loss_call={"t.py:3": [CALL | {"std": 0.4}]})

    assert findings(WeightsTooLarge(), evidence) == []
