"""A bottleneck."""

from whyloss.checks.generalisation.underfitting import Underfitting
from whyloss.testing import check_contract, evidence_from, findings


def net(*widths, share=0.15):
    sizes = list(zip(widths[1:], widths[:-1]))
    return evidence_from(parameter={f"{2 * at}.weight": [{"shape": list(size), "kind": "Linear"}] for at, size in enumerate(sizes)},
                         learned=[{"learned": share > 0.2, "share": share}], loss=[2.3, 2.0, 1.9])


def test_keeps_the_contract():
    check_contract(Underfitting)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in Underfitting.needs)


def test_suspects_a_layer_of_one_unit():
    found, = findings(Underfitting(), net(64, 64, 1, 10))

    assert found.cause == "underfitting" and found.status == "suspected" and found.subject == "2" and found.step == 0


def test_spares_wide_layers_and_trainings_that_come_far():
    assert findings(Underfitting(), net(64, 64, 64, 10)) == []
    assert findings(Underfitting(), net(64, 2, 64, share=0.9)) == []


def test_spares_a_single_output():
    assert findings(Underfitting(), net(64, 32, 1)) == []


def test_a_head_that_was_seen_before_the_layers_under_it_is_no_bottleneck():
    evidence = evidence_from(parameter={"4.weight": [{"shape": [3, 16], "kind": "Linear"}], "0.weight": [{"shape": [16, 8], "kind": "Linear"}]},
                             learned=[{"learned": False, "share": 0.1}], loss=[1.1, 1.0, 1.0])
    assert findings(Underfitting(), evidence) == []
