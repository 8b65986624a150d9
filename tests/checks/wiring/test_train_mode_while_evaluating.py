"""Dropout or batch statistics active in evaluation."""

from whyloss.checks.wiring.train_mode_while_evaluating import TrainModeWhileEvaluating
from whyloss.testing import check_contract, evidence_from, findings


def loop(awake, *, calls=40, asleep=0, repeated=0, monitor=0, root_eval=0, learned=True):
    tally = {"calls": calls, "awake": awake, "asleep": asleep, "repeated": repeated, "monitor": monitor, "root_eval": root_eval, "first": 40,
             "without_gradient": True}
    return evidence_from(scored_call={"train.py:60": {40: tally}}, learned=[{"learned": learned, "share": 0.9}],
                         **({} if learned else {"symptoms": [["flat-from-start"]]}))


def test_keeps_the_contract():
    check_contract(TrainModeWhileEvaluating)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in TrainModeWhileEvaluating.needs)


def test_proves_dropout_in_a_scored_evaluation():
    found, = findings(TrainModeWhileEvaluating(), loop({"drop": "dropout"}))

    assert found.cause == "train-mode-while-evaluating" and found.status == "proven" and found.subject == "drop"
    assert str(found.location) == "train.py:60" and found.step == 40


def test_proves_batch_statistics_too():
    found, = findings(TrainModeWhileEvaluating(), loop({"bn": "batch statistics"}))

    assert found.status == "proven" and "batch statistics" in found.message


def test_names_the_line_of_a_function_that_ignores_the_mode():
    found, = findings(TrainModeWhileEvaluating(), loop({"net.py:19": "dropout"}, root_eval=40))

    assert found.status == "proven" and str(found.location) == "net.py:19" and found.subject == "dropout"


def test_only_notes_parts_that_were_switched_on_again_and_the_batch_just_trained_on():
    assert [f.status for f in findings(TrainModeWhileEvaluating(), loop({"drop": "dropout"}, root_eval=40))] == ["note"]
    assert [f.status for f in findings(TrainModeWhileEvaluating(), loop({"drop": "dropout"}, monitor=40))] == ["note"]


def test_only_notes_a_training_that_does_not_learn():
    assert [f.status for f in findings(TrainModeWhileEvaluating(), loop({"drop": "dropout"}, learned=False))] == ["note"]


def test_spares_evaluation_in_eval_mode():
    assert findings(TrainModeWhileEvaluating(), loop({}, asleep=40)) == []


def test_spares_averages_over_dropout_masks():
    assert findings(TrainModeWhileEvaluating(), loop({"drop": "dropout"}, repeated=35)) == []
