"""Cleared between backward and step."""

from whyloss.checks.wiring.gradients_discarded import GradientsDiscarded
from whyloss.testing import check_contract, evidence_from, findings


def step(discarded=0, norm=1.5):
    return {"place": "train.py:25", "held": 4, "with_gradient": 4, "norm": norm, "after_backward": 1.5,
            "discarded": discarded, "cleared_unused": "train.py:24" if discarded else None}


def loop(row, *, backwards=40, zeros=40, steps=40, **more):
    return evidence_from(step={"Adam": [row] * steps}, totals=[{"optimizer_steps": steps, "optimizers": 1}],
                         calls={"backward": {"train.py:23": backwards}, "zero": {"train.py:24": zeros}}, **more)


def test_keeps_the_contract():
    check_contract(GradientsDiscarded)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in GradientsDiscarded.needs)


def test_names_the_line_that_clears_too_early():
    found, = findings(GradientsDiscarded(), loop(step(discarded=4, norm=0.0)))

    assert found.cause == "gradients-discarded" and found.status == "proven" and found.subject == "Adam"
    assert str(found.location) == "train.py:24"
    assert "1.5 after backward, 0 at the step" in found.measured


LOSES = {"lost": 3, "used": 1, "lost_at": "train.py:22"}


def test_proves_a_clear_after_every_micro_batch_whether_or_not_it_learned():
    found, = findings(GradientsDiscarded(), loop(step() | LOSES, backwards=160, zeros=160, learned=[{"learned": True, "share": 0.95}]))

    assert found.status == "proven" and found.subject == "Adam" and str(found.location) == "train.py:22"
    assert "120 of 160 backward passes" in found.measured


def test_spares_batches_that_are_skipped_now_and_then():
    rows = [step() | (LOSES if at % 4 == 0 else {"lost": 0}) for at in range(40)]
    evidence = evidence_from(step={"Adam": rows}, totals=[{"optimizer_steps": 40, "optimizers": 1}])

    assert findings(GradientsDiscarded(), evidence) == []


def test_spares_two_optimizers_and_steps_with_a_closure():
    for totals in ({"optimizer_steps": 40, "optimizers": 2}, {"optimizer_steps": 90, "optimizers": 1}):
        assert findings(GradientsDiscarded(), evidence_from(step={"Adam": [step() | LOSES] * 40}, totals=[totals])) == []


def test_spares_a_clear_before_backward():
    assert findings(GradientsDiscarded(), loop(step())) == []


def test_spares_accumulation_that_clears_once_per_step():
    assert findings(GradientsDiscarded(), loop(step(), backwards=160, zeros=40)) == []


def test_spares_a_gan_whose_other_optimizer_is_cleared():
    assert findings(GradientsDiscarded(), loop(step(discarded=2, norm=1.2))) == []
