"""Vanishing gradients."""

from whyloss.checks.gradients.vanishing_gradients import VanishingGradients
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
    check_contract(VanishingGradients)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in VanishingGradients.needs)


def test_suspects_a_stack_that_loses_ten_decades():
    found, = findings(VanishingGradients(), stack(5e-11, 1e-8, 1e-5, 1e-2, 0.4, saturated_share={"0:sigmoid": [0.0]},
                                                  activation_place={"0:sigmoid": ["net.py:15"]}))

    assert found.cause == "vanishing-gradients" and found.status == "suspected" and found.subject == "fc0.weight" and found.step == 0
    assert str(found.location) == "net.py:15"


def test_suspects_a_recurrent_matrix_that_forgets():
    found, = findings(VanishingGradients(), recurrent(0.3 * 24 ** 0.5, loss_call={"t.py:9": [{"shape": [32, 2]}]}))

    assert found.subject == "rnn.weight_hh_l0" and "100 time steps" in found.measured


def test_spares_an_identity_recurrence():
    assert findings(VanishingGradients(), recurrent(24 ** 0.5, loss_call={"t.py:9": [{"shape": [32, 2]}]})) == []


def test_spares_four_shallow_decades_and_trainings_that_learn():
    assert findings(VanishingGradients(), stack(1e-4, 1e-3, 1e-2, 0.1)) == []
    assert findings(VanishingGradients(), stack(1e-9, 1e-6, 1e-3, 0.1, learned=[{"learned": True, "share": 0.9}])) == []


def test_finds_a_cell_written_by_hand_and_names_the_line_of_its_product():
    row = {"steps": 60, "size": 0.3, "gated": False, "place": "cell.py:27"}
    fact = {"requires_grad": True, "held": True, "in_model": False, "reached": True, "kind": "", "shape": [30, 30],
            "initial": {"norm": 0.3 * 30 ** 0.5}}

    found, = findings(VanishingGradients(), evidence_from(recurrence={"mix": [row]}, parameter={"mix": [fact]}, grad_norm={"mix": [1.0]},
                                           loss=[1.0, 4e12, float("nan")]))

    assert found.subject == "mix" and str(found.location) == "cell.py:27" and found.asks == {"recurrent": "mix"}
