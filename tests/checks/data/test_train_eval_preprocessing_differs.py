"""Unequal preparation."""

from whyloss.checks.data.train_eval_preprocessing_differs import TrainEvalPreprocessingDiffers
from whyloss.testing import check_contract, evidence_from, findings

FACT = {"rows": 169, "in_training": 0, "distinct_training": 400, "shift": 0.05, "log_std_ratio": 0.01, "overall_log_std_ratio": 0.0}


def phase(**changes):
    return evidence_from(evaluation_inputs={"train.py:56": {195: FACT | changes}})


def test_keeps_the_contract():
    check_contract(TrainEvalPreprocessingDiffers)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in TrainEvalPreprocessingDiffers.needs)


def test_finds_validation_that_is_not_scaled():
    found, = findings(TrainEvalPreprocessingDiffers(), phase(log_std_ratio=-2.7, overall_log_std_ratio=5.4))

    assert found.cause == "train-eval-preprocessing-differs" and found.status == "proven"
    assert str(found.location) == "train.py:56" and found.step == 195 and found.subject == "validation input"


def test_only_suspects_a_factor_of_three():
    assert findings(TrainEvalPreprocessingDiffers(), phase(log_std_ratio=1.1))[0].status == "suspected"


def test_spares_augmentation_and_fine_tuning_on_some_classes():
    assert findings(TrainEvalPreprocessingDiffers(), phase(shift=0.14, log_std_ratio=-0.23)) == []
    assert findings(TrainEvalPreprocessingDiffers(), phase(shift=0.99)) == []
    assert findings(TrainEvalPreprocessingDiffers(), phase(rows=8, log_std_ratio=3.0)) == []


def test_asks_no_experiment_where_nothing_was_learned():
    def worse(learned):
        return evidence_from(evaluation_inputs={"train.py:56": {195: FACT}}, accuracy=[0.9] * 20, val_accuracy={"run": {195: 0.4}},
                             learned=[{"learned": learned, "share": 0.5}])

    assert [found.asks for found in findings(TrainEvalPreprocessingDiffers(), worse(True))] == [{"unseen": True}]
    assert findings(TrainEvalPreprocessingDiffers(), worse(False)) == []
