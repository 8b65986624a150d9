"""Exploding gradients."""

from whyloss.checks.gradients.exploding_gradients import ExplodingGradients
from whyloss.testing import check_contract, evidence_from, findings


def parameter(kind="Linear", **changes):
    return {"requires_grad": True, "kind": kind, "shape": [64, 64], "dtype": "float32",
            "initial": {"zero": False, "norm": 4.6, "fan_in": 64, "row_spread": 0.99}} | changes


def stack(*norms, **more):
    names = [f"fc{at}.weight" for at in range(len(norms))]
    return evidence_from(parameter={n: [parameter()] for n in names}, grad_norm={n: [g] for n, g in zip(names, norms)}, **{"loss": [2.3]} | more)


def recurrent(norm, **more):
    hidden = parameter("RNN", shape=[24, 24], initial={"zero": False, "norm": norm, "fan_in": 24, "row_spread": 0.9})
    return evidence_from(parameter={"rnn.weight_hh_l0": [hidden]}, grad_norm={"rnn.weight_hh_l0": [0.01]}, loss=[0.7],
                         layer={"rnn": [{"kind": "RNN", "in": "(100, 32, 1)", "out": "(100, 32, 24) (1, 32, 24)"}]}, **more)


def test_keeps_the_contract():
    check_contract(ExplodingGradients)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in ExplodingGradients.needs)


CALL = {"shape": [32, 1], "std": 3300.0, "target_std": 0.8, "target_dtype": "float32"}


def test_suspects_a_recurrent_matrix_that_multiplies():
    found, = findings(ExplodingGradients(), recurrent(1.35 * 24 ** 0.5, loss_call={"t.py:9": [CALL]}, grad_norm_total={"t.py:9": [4e10]}))

    assert found.cause == "exploding-gradients" and found.status == "suspected" and found.subject == "rnn.weight_hh_l0" and found.step == 0


def test_suspects_growth_towards_the_input():
    found, = findings(ExplodingGradients(), stack(5e6, 1e3, 10.0, 0.1))

    assert found.subject == "fc0.weight"


def test_spares_a_large_norm_alone_and_a_stable_recurrence():
    assert findings(ExplodingGradients(), stack(5e6, 5e6, 5e6, 5e6)) == []
    assert findings(ExplodingGradients(), recurrent(24 ** 0.5, loss_call={"t.py:9": [CALL]})) == []


def test_spares_outputs_that_start_in_range():
    assert findings(ExplodingGradients(), recurrent(1.35 * 24 ** 0.5, loss_call={"t.py:9": [CALL | {"std": 1.0}]})) == []


def test_finds_a_cell_written_by_hand_and_names_the_line_of_its_product():
    row = {"steps": 60, "size": 1.6, "gated": False, "place": "cell.py:27"}
    fact = {"requires_grad": True, "held": True, "in_model": False, "reached": True, "kind": "", "shape": [30, 30],
            "initial": {"norm": 1.6 * 30 ** 0.5}}

    found, = findings(ExplodingGradients(), evidence_from(recurrence={"mix": [row]}, parameter={"mix": [fact]}, grad_norm={"mix": [1.0]},
                                           loss=[1.0, 4e12, float("nan")]))

    assert found.subject == "mix" and str(found.location) == "cell.py:27" and found.asks == {"recurrent": "mix"}
