"""Terms of the loss: one that holds a task stands still while another falls."""

from whyloss.checks.start.loss_terms_unbalanced import LossTermsUnbalanced
from whyloss.testing import check_contract, evidence_from, findings


def term(values, place, *, target=True):
    return [{"value": v, "operation": "mean", "place": place, "target": target} for v in values]


FLAT, FALLING = [45.0 - 0.01 * n for n in range(12)], [0.4 / (n + 1) for n in range(12)]


def test_keeps_the_contract():
    check_contract(LossTermsUnbalanced)


def test_is_unexamined_without_terms():
    assert any(need.lacking(evidence_from(loss=[1.0]), "main") for need in LossTermsUnbalanced.needs)


def test_suspects_the_falling_term_and_asks_for_both():
    rows = {"a.py:20#0": term(FLAT, "a.py:20"), "a.py:21#1": term(FALLING, "a.py:21", target=False)}
    found, = findings(LossTermsUnbalanced(), evidence_from(loss_term=rows))

    assert found.cause == "loss-terms-unbalanced" and found.status == "suspected"
    assert str(found.location) == "a.py:21" and found.asks["flat"] == "a.py:20"


def test_spares_terms_that_both_fall():
    rows = {"a.py:20#0": term(FALLING, "a.py:20"), "a.py:21#1": term(FALLING, "a.py:21")}
    assert findings(LossTermsUnbalanced(), evidence_from(loss_term=rows)) == []


def test_spares_a_regulariser_that_stands_still():
    assert findings(LossTermsUnbalanced(), evidence_from(loss_term={"a.py:20#0": term(FALLING, "a.py:20"),
                                                                    "a.py:21#1": term(FLAT, "a.py:21", target=False)})) == []
