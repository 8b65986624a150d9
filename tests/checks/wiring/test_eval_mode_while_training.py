"""Trained in eval mode."""

from whyloss.checks.wiring.eval_mode_while_training import EvalModeWhileTraining
from whyloss.testing import check_contract, evidence_from, findings


def root(training):
    return {"parameters": 6, "reached": 6, "training": training}


def loop(roots, modes, *, evals=3, evaluations=3):
    return evidence_from(root={"train.py:46": [root(t) for t in roots]}, mode_in_loss={"bn1": list(modes)},
                         calls={"eval": {"train.py:26": evals}} if evals else {"backward": {"train.py:48": 10}},
                         totals=[{"evaluations": evaluations}])


def test_keeps_the_contract():
    check_contract(EvalModeWhileTraining)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in EvalModeWhileTraining.needs)


def test_names_the_eval_that_was_not_undone_and_the_step_it_began():
    found, = findings(EvalModeWhileTraining(), loop([True] * 4 + [False] * 16, [True] * 4 + [False] * 16))

    assert found.cause == "eval-mode-while-training" and found.status == "proven" and found.subject == "bn1"
    assert str(found.location) == "train.py:26" and found.step == 4 and "from step 4 on" in found.message


def test_suspects_a_model_that_was_loaded_in_eval_mode():
    found, = findings(EvalModeWhileTraining(), loop([False] * 20, [False] * 20, evals=0, evaluations=0))

    assert found.status == "suspected" and "from the start" in found.measured


def test_spares_a_frozen_batch_norm_in_a_model_in_train_mode():
    assert findings(EvalModeWhileTraining(), loop([True] * 20, [False] * 20)) == []


def test_spares_training_in_train_mode():
    assert findings(EvalModeWhileTraining(), loop([True] * 20, [True] * 20)) == []


def test_spares_a_generator_that_sleeps_in_some_steps():
    assert findings(EvalModeWhileTraining(), loop([False] * 5 + [True] * 15, [False] * 5 + [True] * 15)) == []
