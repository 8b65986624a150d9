"""When a step is sampled: a token bucket that earns a share of the step time and pays for what watching took.

Both are wall time of the training thread: a busy machine stretches both alike, and a wait for data or for the device is part
of the step.
"""

from collections import deque
from dataclasses import dataclass
from statistics import median

CAP = 3.0      # so many samples may be saved up, no more: a long pause is no reason for a burst; and so many owed
OTHERS = 0.8   # of what is earned may go to steps that are not sampled, to writing, to being interrupted: the rest is for samples
EARLY = (4, 16, 64)  # steps that are sampled whatever they cost: a short training is seen too. What the budget lacks is reported, not charged


@dataclass(frozen=True)
class Cost:
    """What watching took. seconds: its own; share: of the training's time without it; sampled: of `steps` optimizer steps;
    freezing: seconds that went into steps that were saved, apart from the others"""

    seconds: float
    share: float
    steps: int
    sampled: int
    freezing: float = 0.0


class Bucket:
    """`share` of the step time may be spent. The first sample pays for warming up and is reported, not charged.

    balance  for samples        owed  by steps that were not sampled; below 0: paid in advance
    early    the step from which on the next sample comes, whatever it costs
    """

    def __init__(self, share: float):
        self.share = share
        self.balance = self.owed = 0.0
        self.samples = 0
        self.early = 0
        self.typical = 0.0   # seconds of a sample: the median of the last five
        self._costs: deque[float] = deque(maxlen=5)

    def step(self, bare: float, own: float) -> None:
        """Earn for a sampled step of `bare` seconds, pay `own` seconds."""
        self.balance += self.share * bare - own - min(self.owed, 0.0)
        self.owed = max(self.owed, 0.0)
        if self.samples > len(EARLY):  # one sample that was interrupted for long must not silence the rest; an early one is given back whole
            self.balance = max(self.balance, -CAP * self.typical)

    def sampled(self, seconds: float, unpaid: float = 0.0) -> None:
        """A sample is complete and took so long, all in all; `unpaid` of that was not part of a step yet."""
        self.samples += 1
        self.owed -= unpaid
        if self.samples == 1:
            self.balance = 0.0
            self._costs.append(seconds / 2)  # the first one is slow; a guess until there is a second
        else:
            if self.samples == 2:
                self._costs.clear()
            self._costs.append(seconds)
            self.balance -= unpaid
            if self.samples <= 1 + len(EARLY):  # what was not there for an early one is a present
                self.balance += min(seconds, max(0.0, -self.balance))
        self.early = EARLY[self.samples - 1] if self.samples <= len(EARLY) else 2**62
        self.typical = median(self._costs)

    def affords(self, unpaid: float = 0.0) -> bool:
        if self.typical:
            self.balance, self.owed = min(self.balance, CAP * self.typical), min(self.owed, CAP * self.typical)
        return self.samples == 0 or self.balance - unpaid - min(self.owed, 0.0) >= self.typical
