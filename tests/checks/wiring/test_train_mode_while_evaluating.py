"""Dropout active in evaluation."""

from whyloss.checks.wiring.train_mode_while_evaluating import TrainModeWhileEvaluating
from whyloss.testing import check_contract, evidence_from, findings


def loop(modes, *, kind="Dropout", scored=True, learned=True):
    return evidence_from(evaluated_in_train_mode={"train.py:60": {40: modes}}, layer={"drop": {"kind": kind}},
                         val_accuracy={"run": {40: 0.6}} if scored else {}, learned=[{"learned": learned, "share": 0.9}])


def test_keeps_the_contract():
    check_contract(TrainModeWhileEvaluating)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in TrainModeWhileEvaluating.needs)


def test_suspects_dropout_in_a_scored_evaluation():
    found, = findings(TrainModeWhileEvaluating(), loop(["drop"]))

    assert found.cause == "train-mode-while-evaluating" and found.status == "suspected" and found.subject == "drop"
    assert str(found.location) == "train.py:60" and found.step == 40


def test_only_notes_batch_norm_and_runs_that_do_not_learn():
    assert [f.status for f in findings(TrainModeWhileEvaluating(), loop(["drop"], kind="BatchNorm1d"))] == ["note"]
    assert [f.status for f in findings(TrainModeWhileEvaluating(), loop(["drop"], learned=False))] == ["note"]


def test_spares_evaluation_in_eval_mode():
    assert findings(TrainModeWhileEvaluating(), loop([])) == []


def test_spares_samples_that_are_drawn_for_training():
    assert findings(TrainModeWhileEvaluating(), loop(["drop"], scored=False)) == []
