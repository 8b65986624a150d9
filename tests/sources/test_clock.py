"""Budgets are kept in work done, not in time gone by."""

import time

from whyloss.sources.clock import WAITING, Stopwatch


def test_counts_what_this_thread_computes():
    watch = Stopwatch()
    end = time.thread_time() + 0.05
    while time.thread_time() < end:
        sum(range(1000))

    assert watch.seconds() >= 0.05


def test_counts_a_wait_at_a_share_and_never_falls():
    watch = Stopwatch()
    first = watch.seconds()
    time.sleep(0.1)
    second = watch.seconds()

    assert first <= second and WAITING * 0.1 <= second < 0.09
    assert watch.seconds() >= second
