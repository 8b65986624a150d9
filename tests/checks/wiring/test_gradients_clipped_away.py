"""A limit far below the usual norm."""

from whyloss.checks.wiring.gradients_clipped_away import GradientsClippedAway
from whyloss.testing import check_contract, evidence_from, findings


def clips(before, after, scale=1.0, count=40):
    return {"train.py:30": [{"limit": 1e-4, "before": before, "after": after, "scale": scale}] * count}


def steps(norms, before, **more):
    row = {"place": "train.py:31", "clipped": False, "unscaled": False, "scale": 1.0}
    return {"SGD": [{**row, "norm": n, "after_backward": b, **more} for n, b in zip(norms, before)]}


STEPS = steps([2.0] * 40, [2.0] * 40, clipped=True)
VARIED = [1.0 + 0.5 * (i % 3) for i in range(40)]


def test_a_cut_by_hand_leaves_one_small_norm_of_one_that_varies():
    found, = findings(GradientsClippedAway(), evidence_from(step=steps([1e-4] * 40, VARIED)))

    assert found.cause == "gradients-clipped-away" and str(found.location) == "train.py:31" and found.asks["norm"] == 1e-4


def test_spares_a_division_by_a_count_which_varies_along():
    assert findings(GradientsClippedAway(), evidence_from(step=steps([b / 64 for b in VARIED], VARIED))) == []


def test_spares_steps_that_take_what_backward_left():
    assert findings(GradientsClippedAway(), evidence_from(step=steps(VARIED, VARIED))) == []


def test_keeps_the_contract():
    check_contract(GradientsClippedAway)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in GradientsClippedAway.needs)


def test_names_the_clip_and_the_usual_norm():
    found, = findings(GradientsClippedAway(), evidence_from(step=STEPS, clip=clips(2.0, 1e-4)))

    assert found.cause == "gradients-clipped-away" and found.status == "suspected"
    assert str(found.location) == "train.py:30" and "median norm 2 cut to 0.0001 in 40 of 40" in found.measured


def test_spares_clipping_that_leaves_a_share():
    assert findings(GradientsClippedAway(), evidence_from(step=STEPS, clip=clips(20.0, 1.0))) == []


def test_spares_the_rare_large_step():
    rows = clips(0.5, 0.5, count=38)["train.py:30"] + clips(1e5, 1.0, count=2)["train.py:30"]
    assert findings(GradientsClippedAway(), evidence_from(step=STEPS, clip={"train.py:30": rows})) == []


def test_leaves_scaled_gradients_to_their_own_check():
    assert findings(GradientsClippedAway(), evidence_from(step=STEPS, clip=clips(65536.0, 1.0, scale=65536.0))) == []


def test_spares_a_run_that_learned():
    evidence = evidence_from(step=STEPS, clip=clips(2.0, 1e-4), learned=[{"learned": True, "share": 0.9}])
    assert findings(GradientsClippedAway(), evidence) == []
