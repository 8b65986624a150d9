"""Strong dropout in a training that learns all the same; rows of an evaluation decide."""

from whyloss.causes import CAUSES
from whyloss.checks.initialisation.dropout_keeps_too_little import DropoutKeepsTooLittle
from whyloss.testing import check_contract, evidence_from, findings

CALLS = {"drop": [{"p": 0.2, "place": "train.py:9"}], "head": [{"p": 0.85, "place": "train.py:11"}]}
LEARNED = [{"learned": True, "share": 0.5}]


def test_keeps_the_contract():
    check_contract(DropoutKeepsTooLittle)


def test_leaves_a_rate_that_keeps_little_to_rows_of_an_evaluation():
    found, = findings(DropoutKeepsTooLittle(), evidence_from(dropout=CALLS, learned=LEARNED))

    assert (found.cause, found.subject, found.status, str(found.location)) == ("dropout-too-strong", "head", "suspected", "train.py:11")
    assert found.asks == {"unseen": True, "held": True} and "p = 0.15" in found.remedies[1]


def test_spares_usual_rates_and_leaves_symptoms_to_its_neighbour():
    usual = {"drop": [{"p": 0.5, "place": "train.py:9"}]}

    assert findings(DropoutKeepsTooLittle(), evidence_from(dropout=usual, learned=LEARNED)) == []
    assert findings(DropoutKeepsTooLittle(), evidence_from(dropout=CALLS, learned=LEARNED, symptoms=[["flat-at-baseline"]])) == []


def test_is_unexamined_without_active_dropout():
    assert findings(DropoutKeepsTooLittle(), evidence_from(learned=LEARNED)) == []


def test_what_was_judged_on_an_evaluation_is_not_read_off_the_training_loss():
    holds = CAUSES["dropout-too-strong"].prediction.holds
    for shown in (True, False):
        evidence = evidence_from(weather=[1.0])
        evidence.add("held", True, run="without-dropout")
        evidence.add("shown", shown, run="without-dropout")
        assert holds(evidence, "without-dropout") is shown
