"""Whose time it is, step by step: ours or the training's; and so whether the next step is sampled."""

import math
from collections import deque
from statistics import median

from whyloss.sources.monitor.bucket import OTHERS, Bucket

QUIET = 15            # steps in a row that may pass with no more than their loss noted
BEHIND = 0.25         # seconds that they may take together: what is watched stays up to date
QUIET_SECONDS = 5e-6  # what noting the end of such a step takes, which no clock of ours sees


class Pace:
    """Seconds of the training thread, and the budget.

    own, bare  ours, and the training's without us, until the last step that was accounted for
    since      ours after it
    """

    def __init__(self, budget: float, every: int | None):
        self.every = every
        self.bucket = Bucket(budget)
        self.own = self.bare = self.since = 0.0
        self.entered = self.last = self._mark = 0.0
        self._bares: deque[float] = deque(maxlen=8)

    @property
    def share(self) -> float:
        """Ours, of the training's."""
        return self.own / self.bare if self.bare else 0.0

    def start(self, now: float) -> None:
        self.last = self.entered = now

    def plain(self, now: float, steps: int) -> None:
        """So many steps ended at `now` that were not sampled. In one piece: the caches have forgotten us, and each call costs microseconds."""
        own, bucket = self.since + QUIET_SECONDS * (steps - 1), self.bucket
        bare = max(now - self.last - own, 0.0)
        self.bare, self.own, self.last, self.since = self.bare + bare, self.own + own, now, 0.0
        self._bares.append(bare / steps)
        earned, owed = bucket.share * bare, bucket.owed + own
        paid = owed if owed < OTHERS * earned else OTHERS * earned
        bucket.balance, bucket.owed = bucket.balance + earned - paid, owed - paid

    def sampled(self, now: float, heard: float) -> None:
        """A step of a sample ended at `now`; what we do from here on is paid by the next one. heard: seconds in hooks"""
        own = self.since + heard
        bare = max(now - self.last - own, 0.0)
        self.bare += bare
        self._bares.append(bare)
        self.bucket.step(bare, own)
        self.own, self.last, self.since = self.own + own, now, 0.0

    def pending(self, now: float, heard: float) -> float:
        """Own seconds since the last step ended, up to now."""
        return self.since + heard + now - self.entered

    def begin(self, pending: float) -> None:
        """A sample begins."""
        self._mark = self.own + pending

    def end(self, pending: float) -> None:
        """The sample is complete."""
        self.bucket.sampled(self.own + pending - self._mark, pending)

    def perhaps(self, step: int) -> bool:
        """Whether to ask `wants` at all."""
        return self.every is not None or self.bucket.balance >= self.bucket.typical or step >= self.bucket.early

    def wants(self, step: int, world: int, pending: float) -> bool:
        """Whether the step after `step` is to be sampled."""
        if self.every is not None:
            return step % self.every == 0
        if step >= self.bucket.early:
            return True
        if not self.bucket.affords(pending):
            return False
        if world > 1 and self.bucket.samples > 1 and self._bares:
            # ranks keep to the same steps without a word between them: multiples of a power of two
            needed = self.bucket.typical / max(self.bucket.share * median(self._bares), 1e-9)
            return step % (1 << max(0, math.ceil(math.log2(max(needed, 1.0))))) == 0
        return True

    def quiet(self, step: int) -> int:
        """How many steps may pass before one has to be looked at: none of them can be wanted."""
        bare = self._bares[-1]
        most = min(QUIET, int(BEHIND / bare)) if bare > 0 else 0
        if self.every is not None:
            return min(most, self.every - 1 - step % self.every)
        needed = (self.bucket.typical - self.bucket.balance) / (self.bucket.share * bare) if bare > 0 else 0.0
        return max(0, min(most, int(needed) - 1, self.bucket.early - 1 - step))
