"""Which frames stay: evenly spread ones, spikes, the newest and those around events, however often a run is thinned."""

import numpy as np
import pytest

from whyloss.sources.framefile import ABSENT
from whyloss.sources.thinning import NEAR, Index, staying


def long_run(frames, room, events=(), lead=None):
    """Thinned whenever there are more frames than room. -> the steps that stayed"""
    index, gone = Index(), []
    for step in range(frames):
        index.add(step, 1, step, 1.0 if lead is None else lead(step))
        if len(index) > room:
            gone += index.thin([e for e in events if e <= step], room // 2)
    return np.setdiff1d(np.arange(frames), gone)


def test_a_run_thinned_a_hundred_times_is_evenly_spread_and_keeps_both_ends():
    steps = long_run(20_000, 300)

    assert steps[0] == 0 and steps[-1] == 19_999 and 100 < len(steps) <= 301
    older = np.diff(steps)[:80]
    assert older.max() <= 2.1 * np.median(older)  # without a hole, nor a crowd


def test_spikes_and_what_is_not_finite_survive_each_thinning():
    steps = long_run(20_000, 400, lead=lambda at: 50.0 if at == 7777 else np.inf if at == 1234 else 1 / (1 + at))

    assert {7777, 1234} <= set(steps.tolist())


def test_frames_around_an_event_stay_and_many_events_leave_room_for_the_rest():
    one = set(long_run(5000, 400, events=[2000]).tolist())
    assert set(range(2000 - NEAR, 2000 + NEAR)) <= one

    many = long_run(5000, 400, events=range(0, 5000, 10))
    assert len(many) <= 401 and np.diff(many).max() < 1000


@pytest.mark.parametrize("most", [2, 10, 500])
def test_never_more_than_asked_for_beyond_what_must_stay(most):
    rng = np.random.default_rng(0)
    steps = np.sort(rng.choice(10**7, 2000, replace=False))
    lead = rng.random(2000).astype(np.float32)
    lead[5] = ABSENT

    kept = staying(steps, np.ones(2000, int), lead, np.array([], int), most)
    assert 2 <= kept.sum() <= most + 6 and kept[0] and kept[-1] and kept[lead.tolist().index(np.nanmax(lead))]


def test_each_part_of_a_resumed_run_keeps_its_first_frame():
    steps, parts = np.tile(np.arange(100), 3), np.repeat([1, 2, 3], 100)
    kept = staying(steps, parts, np.ones(300, np.float32), np.array([], int), 30)

    assert kept[[0, 100, 200, 299]].all() and kept.sum() <= 40
