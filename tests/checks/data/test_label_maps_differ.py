"""Class ids that mean different things in two data sets."""

from whyloss.checks.data.label_maps_differ import LabelMapsDiffer
from whyloss.testing import check_contract, evidence_from, findings

TURNED = [[0, 1, 20, 20], [1, 2, 20, 19], [2, 0, 20, 20], [0, 0, 1, 1]]


def run(rows, accuracy=0.95, **more):
    return evidence_from(totals=[{"backward": 100}], confusion={"train.py:50": {90: rows}}, accuracy=[accuracy] * 10, **more)


def test_keeps_the_contract():
    check_contract(LabelMapsDiffer)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in LabelMapsDiffer.needs)


def test_proves_maps_that_disagree():
    maps = {"Folders.class_to_idx": [{"subject": "Folders.class_to_idx", "names": 10, "differing": 9, "example": "five", "first": 4, "second": 0}]}
    found, = findings(LabelMapsDiffer(), run(TURNED, class_maps=maps))

    assert found.cause == "label-maps-differ" and found.status == "proven" and found.subject == "Folders.class_to_idx"
    assert str(found.location) == "train.py:50" and found.step == 90 and "'five' is 4" in found.measured


def test_suspects_predictions_right_under_other_names():
    found, = findings(LabelMapsDiffer(), run(TURNED))

    assert found.status == "suspected" and found.asks["after"] < 0.1 and "0 is 1" in found.measured


def test_spares_a_model_that_overfits():
    assert findings(LabelMapsDiffer(), run([[0, 0, 9, 9], [0, 1, 8, 8], [1, 1, 9, 9], [1, 0, 8, 8], [2, 0, 5, 6], [2, 2, 9, 9]])) == []


def test_spares_a_training_that_is_not_right_itself():
    assert findings(LabelMapsDiffer(), run(TURNED, accuracy=0.3)) == []


def test_spares_two_predicted_classes_that_stand_for_one():
    assert findings(LabelMapsDiffer(), run([[0, 1, 20, 20], [1, 1, 20, 20], [2, 2, 5, 5]])) == []
