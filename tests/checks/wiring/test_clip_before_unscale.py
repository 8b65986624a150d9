"""Clipped while scaled."""

from whyloss.checks.wiring.clip_before_unscale import ClipBeforeUnscale
from whyloss.testing import check_contract, evidence_from, findings


def loop(before, after, norm, scale=1.0):
    return evidence_from(clip={"train.py:30": [{"limit": 1.0, "before": before, "after": after, "scale": scale}] * 20},
                         step={"SGD": [{"norm": norm, "clipped": True}] * 20})


def test_keeps_the_contract():
    check_contract(ClipBeforeUnscale)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in ClipBeforeUnscale.needs)


def test_names_the_clip_that_comes_too_early():
    found, = findings(ClipBeforeUnscale(), loop(65536.0, 1.0, 1 / 65536, scale=65536.0))

    assert found.cause == "clip-before-unscale" and found.status == "proven" and found.subject == "SGD"
    assert str(found.location) == "train.py:30" and "65536" in found.measured


def test_finds_a_scale_made_by_hand():
    found, = findings(ClipBeforeUnscale(), loop(3000.0, 1.0, 1 / 1024))

    assert "1024" in found.measured


def test_spares_clipping_after_unscaling():
    assert findings(ClipBeforeUnscale(), loop(3.0, 1.0, 1.0)) == []


def test_spares_a_limit_that_is_never_reached():
    assert findings(ClipBeforeUnscale(), loop(65536.0, 65536.0, 1.0, scale=65536.0)) == []


def test_spares_a_small_factor():
    assert findings(ClipBeforeUnscale(), loop(3.0, 1.0, 0.25)) == []
