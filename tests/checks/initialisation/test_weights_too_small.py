"""Small starting weights."""

from whyloss.checks.initialisation.weights_too_small import WeightsTooSmall
from whyloss.testing import check_contract, evidence_from, findings


def parameter(name, **changes):
    return {name: [{"requires_grad": True, "held": True, "in_model": True, "reached": True, "kind": "Linear", "shape": [64, 64], "dtype": "float32",
                    "changed": True, "initial": {"zero": False, "std": 0.07, "norm": 4.6, "fan_in": 64, "row_spread": 0.99},
                    "final_row_spread": 0.99} | changes]}


TINY = {"zero": False, "std": 1e-3, "norm": 0.064, "fan_in": 64, "row_spread": 0.99}


def net(start, *signal):
    return evidence_from(parameter=parameter("fc1.weight", initial=start) | parameter("fc2.weight", initial=start) | parameter("fc3.weight",
                                                                                                                               initial=start),
                         signal={f"fc{at}": [value] for at, value in enumerate(signal, 1)})


def test_keeps_the_contract():
    check_contract(WeightsTooSmall)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in WeightsTooSmall.needs)


def test_suspects_a_signal_that_dies():
    found, = findings(WeightsTooSmall(), net(TINY, 4e-3, 1e-5, 6e-8))

    assert found.cause == "initial-weights-too-small" and found.status == "suspected" and found.subject == "fc1.weight" and found.step == 0


def test_spares_the_default():
    default = {"zero": False, "std": 0.07, "norm": 4.6, "fan_in": 64, "row_spread": 0.99}

    assert findings(WeightsTooSmall(), net(default, 0.15, 0.05, 1e-5)) == []


def test_spares_small_weights_behind_a_normalisation():
    assert findings(WeightsTooSmall(), net(TINY, 4e-3, 1.0, 0.9)) == []
