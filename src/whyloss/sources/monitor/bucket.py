"""When a step is sampled: a token bucket that earns a share of the step time and pays for what watching took.

Both are wall time of the training thread: a busy machine stretches both alike, and a wait for data or for the device is part
of the step.
"""

from collections import deque
from dataclasses import dataclass
from statistics import median

CAP = 3.0      # so many samples may be saved up, no more: a long pause is no reason for a burst


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
    """`share` of the step time may be spent. The first sample pays for warming up and is reported, not charged."""

    def __init__(self, share: float):
        self.share = share
        self.balance = 0.0
        self.samples = 0
        self.typical = 0.0   # seconds of a sample: the median of the last five
        self._costs: deque[float] = deque(maxlen=5)

    def step(self, bare: float, own: float) -> None:
        """Earn for a step of `bare` seconds, pay `own` seconds."""
        self.balance += self.share * bare - own

    def sampled(self, seconds: float, unpaid: float = 0.0) -> None:
        """A sample is complete and took so long, all in all; `unpaid` of that the next step will pay."""
        self.samples += 1
        if self.samples == 1:
            self.balance = unpaid
            self._costs.append(seconds / 2)  # the first one is slow; a guess until there is a second
        else:
            if self.samples == 2:
                self._costs.clear()
            self._costs.append(seconds)
        self.typical = median(self._costs)

    def affords(self, unpaid: float = 0.0) -> bool:
        if self.typical and self.balance > CAP * self.typical:
            self.balance = CAP * self.typical
        return self.samples == 0 or self.balance - unpaid >= self.typical
