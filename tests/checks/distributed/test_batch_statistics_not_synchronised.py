"""Batch normalisation of shards of different kinds."""

import pytest

from whyloss.checks.distributed.batch_statistics_not_synchronised import BatchStatisticsNotSynchronised
from whyloss.testing import check_contract, evidence_from, findings


def run(**changes):
    row = {"rank": 1, "effect": 0.9, "chance": 0.05, "share": 0.8, "steps": 27, "size": 4, "channels": 12} | changes
    return evidence_from(ranks_statistics={"bn1": [row], "bn2": [row | {"effect": 0.01}]})


def test_keeps_the_contract():
    check_contract(BatchStatisticsNotSynchronised)


def test_is_unexamined_without_batch_normalisation():
    assert any(need.lacking(evidence_from(loss=[1.0] * 9), "main") for need in BatchStatisticsNotSynchronised.needs)


def test_names_the_layer_and_the_shift():
    found, = findings(BatchStatisticsNotSynchronised(), run())

    assert found.cause == "batch-statistics-not-synchronised" and found.status == "proven" and found.subject == "bn1"
    assert "0.90 standard deviations" in found.measured and "1 of 2 layers" in found.measured


@pytest.mark.parametrize("changes", [{"effect": 0.1}, {"chance": 0.4}, {"share": 0.05}], ids=["small", "noise", "one-channel"])
def test_spares(changes):
    assert findings(BatchStatisticsNotSynchronised(), run(**changes)) == []
