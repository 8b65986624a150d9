"""Copies of training rows, but for a little noise, in the evaluation."""

from whyloss.checks.data.near_copies import NearCopies
from whyloss.testing import check_contract, evidence_from, findings

SEEN = {"rows": 250, "near": 120, "within": 80, "clusters": 70, "copies": 4.0, "dimension": 9.0, "columns": 1.0}


def seen(classes=2, **changes):
    return evidence_from(evaluation_copies={"train.py:40": [{"rows": 250, "near": 0}, {**SEEN, **changes}]},
                         loss_call={"train.py:30": [{"function": "cross_entropy", "shape": [64, classes], "counts": True}]})


def test_keeps_the_contract():
    check_contract(NearCopies)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in NearCopies.needs)


def test_proves_a_leak_by_copies():
    found, = findings(NearCopies(), seen())

    assert found.cause == "validation-leak" and found.status == "proven" and str(found.location) == "train.py:40"
    assert "120 of 250" in found.measured and "70 different" in found.measured


def test_spares_few_copies_few_originals_and_a_group_of_rows_for_each_class():
    assert findings(NearCopies(), seen(near=40)) == []
    assert findings(NearCopies(), seen(clusters=12)) == []
    assert findings(NearCopies(), seen(classes=40)) == []


def test_spares_rows_without_a_neighbour_in_the_evaluation_grids_and_few_degrees_of_freedom():
    assert findings(NearCopies(), seen(within=10)) == []
    assert findings(NearCopies(), seen(columns=0.2)) == []
    assert findings(NearCopies(), seen(dimension=1.4)) == []


def test_spares_an_evaluation_without_copies():
    assert findings(NearCopies(), evidence_from(evaluation_copies={"train.py:40": [{"rows": 250, "near": 0}]})) == []
