"""Embeddings that become one point."""

import math

from whyloss.checks.start.embeddings_collapse import EmbeddingsCollapse
from whyloss.testing import check_contract, evidence_from, findings


def seen(spreads, loss, operation="cdist"):
    return evidence_from(embedding={"a.py:17": [{"operation": operation, "spread": s, "largest": s} for s in spreads]}, loss=[0.75, 0.7, loss])


def test_keeps_the_contract():
    check_contract(EmbeddingsCollapse)


def test_is_unexamined_without_embeddings():
    assert any(need.lacking(evidence_from(loss=[1.0]), "main") for need in EmbeddingsCollapse.needs)


def test_finds_the_point_and_explains_the_number():
    found, = findings(EmbeddingsCollapse(), seen([0.4, 0.3, 0.15, 0.002, 0.001, 0.001], math.log(2)))

    assert found.cause == "representation-collapse" and found.status == "proven" and found.step == 3
    assert "ln 2" in found.measured and found.subject == "cdist"


def test_spares_embeddings_that_differ():
    assert findings(EmbeddingsCollapse(), seen([0.4, 0.5, 0.7, 0.9, 1.0, 1.0], 0.1)) == []


def test_spares_embeddings_that_were_alike_from_the_start():
    assert findings(EmbeddingsCollapse(), seen([0.03, 0.03, 0.025, 0.025, 0.025, 0.025], 0.1)) == []


def test_spares_embeddings_that_drift_apart_again():
    assert findings(EmbeddingsCollapse(), seen([0.6, 0.2, 0.05, 0.035, 0.037, 0.041, 0.042, 0.043], 0.1995)) == []
    assert findings(EmbeddingsCollapse(), seen([0.6, 0.2, 0.09, 0.082, 0.08, 0.078, 0.077, 0.076], -0.99))
