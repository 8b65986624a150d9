"""Masks that were resized like pictures."""

import torch

from whyloss.checks.data.ids_between_ids import IdsBetweenIds
from whyloss.sources.masks import borders
from whyloss.testing import check_contract, evidence_from, findings

FACT = {"ids": [0, 2, 3, 5, 7, 10], "regions": [0, 2, 10], "edges": [3, 5, 7], "steps": 4, "edge_pixels": 900, "pixels": 20000}


def test_keeps_the_contract():
    check_contract(IdsBetweenIds)


def test_proves_ids_that_lie_only_between_others():
    found, = findings(IdsBetweenIds(), evidence_from(label_borders={"train.py:9": [FACT]}))

    assert found.cause == "labels-corrupted" and found.status == "proven" and found.subject == "targets"


def test_spares_a_contour_class_and_levels_that_have_an_inside():
    for other in ({"edges": [3], "regions": [0, 2, 5, 7, 10]}, {"edges": [3, 5, 7], "regions": [0, 10]},
                  {"edges": [3, 5, 12], "ids": [0, 2, 3, 5, 10, 12]}):
        assert findings(IdsBetweenIds(), evidence_from(label_borders={"train.py:9": [{**FACT, **other}]})) == []


def test_counts_the_inside_of_regions_and_the_pixels_between_two():
    maps = torch.zeros(1, 10, 10, dtype=torch.long)
    maps[:, :, 5], maps[:, :, 6:] = 4, 9

    counts = borders(maps)

    assert counts[4] == (8, 0, 8) and counts[0][1] > 0.5 * counts[0][0] and counts[9][2] == 0
