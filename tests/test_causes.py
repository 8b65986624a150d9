"""The catalogue: complete, in full sentences, and with experiments that the laboratory knows."""

import re
from pathlib import Path

import pytest

from whyloss.cause import FAMILIES
from whyloss.causes import CAUSES, cause, family
from whyloss.causes.labels import LABELS
from whyloss.errors import UnknownName

IDS = (Path(__file__).parent / "data" / "cause_ids.txt").read_text().split()


def test_holds_every_published_id_exactly_once():
    assert sorted(CAUSES) == sorted(IDS)
    assert len(set(IDS)) == len(IDS)


def test_every_family_has_a_cause():
    assert all(family(name) for name in FAMILIES)


@pytest.mark.parametrize("id", CAUSES)
def test_every_text_is_written(id):
    entry = CAUSES[id]

    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", entry.id)
    assert entry.title.strip() and len(entry.title) <= 40 and not entry.title.endswith(".")
    assert entry.meaning.endswith(".")
    assert entry.why.endswith(".") and len(entry.why) > 60
    assert entry.remedies and all(r.strip() and not r.endswith(".") for r in entry.remedies)
    assert entry.source.strip()


@pytest.mark.parametrize("id", [id for id, entry in CAUSES.items() if entry.prediction])
def test_every_prediction_names_an_experiment_and_what_it_shows(id):
    prediction = CAUSES[id].prediction

    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", prediction.experiment)
    assert prediction.shows.strip() and callable(prediction.holds)


def test_every_predicted_experiment_is_in_the_laboratory():
    names = pytest.importorskip("whyloss.laboratory.names").EXPERIMENTS

    assert {entry.prediction.experiment for entry in CAUSES.values() if entry.prediction} <= set(names)


def test_an_unknown_id_names_the_nearest_one():
    with pytest.raises(UnknownName, match="step-never-called"):
        cause("step-never-call")


def test_an_unknown_family_is_an_error():
    with pytest.raises(UnknownName, match="nearest: loss"):
        family("los")


def test_a_curve_label_is_never_a_cause():
    shared = set(LABELS) & set(CAUSES)

    assert shared <= {"overfitting", "underfitting"}  # these two are both: seen in the curve, confirmed by experiment
    assert all(text.endswith(".") for text in LABELS.values())
