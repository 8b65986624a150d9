"""Seconds of work: budgets are kept in processor time, so that a busy machine changes neither what is observed nor how an experiment ends."""

import time
from time import thread_time as worked  # noqa: F401  what this thread has computed; for the watching, called at every operation

WAITING = 0.25  # a device or a disk that is waited for counts too, at this share of the clock on the wall


class Stopwatch:
    """Work of the calling thread, or a share of the time on the wall where that is more."""

    def __init__(self) -> None:
        self.total, self.cpu, self.wall = 0.0, time.thread_time(), time.monotonic()

    def seconds(self) -> float:
        """Since it was made; never falls."""
        cpu, wall = time.thread_time(), time.monotonic()
        self.total += max(cpu - self.cpu, WAITING * (wall - self.wall))
        self.cpu, self.wall = cpu, wall
        return self.total


_SINCE_START = Stopwatch()


def now() -> float:
    """For deadlines: seconds of work since the import."""
    return _SINCE_START.seconds()
