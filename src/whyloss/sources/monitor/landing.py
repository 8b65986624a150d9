"""Samples on their way: from the device to the host, into memory and the ledger, past the alarms and on to the writers."""

import numpy as np

from whyloss.sources.framefile import blank, is_absent
from whyloss.sources.monitor.pace import BEHIND
from whyloss.sources.monitor.sample import Flight
from whyloss.sources.monitor.sharding import holders

FRAMES = 8      # samples that are worked out together: code that has just run takes a third of the time
JUDGED = 4      # of samples in a row, each so many steps one is judged


class Landing:
    """Of one monitor. room: bytes that its history may take"""

    def __init__(self, monitor, room: int):
        self.monitor, self.room = monitor, room
        self.flying: list[tuple[Flight, float]] = []    # with the seconds since the start
        self.unjudged: list[tuple] = []    # (step, frame, what was measured) of samples that are not judged yet
        self.judged = -JUDGED              # step of the last one that is or will be: of samples in a row not every one is
        self.columns = 0                   # that were told

    def sent(self, flight: Flight, seconds: float) -> None:
        """A sample is complete. Where the next step is sampled too, and nothing is wrong with this one, it waits for others."""
        self.flying.append((flight, seconds))
        in_a_row = self.monitor.pace.every == 1 and not self.monitor.writers
        if not in_a_row or len(self.flying) >= FRAMES or seconds - self.flying[0][1] > BEHIND or not flight.readings.arrived() or \
                not (not flight.found_inf and flight.readings.fine() or self.monitor.sampler.arrive([flight])):
            self.land()

    def land(self, *, wait: bool = False) -> None:
        """Samples that have arrived on the host: kept, judged and passed on."""
        while self.flying and (wait or self.flying[0][0].readings.arrived()):
            if self.flying[0][0].frame is None:
                self.monitor.sampler.arrive(self._alike())
            flight, seconds = self.flying.pop(0)
            frame, losses = self.monitor.sampler.frame(flight)
            self.monitor.told(losses)
            self._keep(flight, frame, seconds)

    def _alike(self) -> list[Flight]:
        """The first sample, and those behind it that can be worked out with it."""
        first, *others = (flight for flight, _seconds in self.flying)
        alike = [first]
        for flight in others:
            if flight.frame is not None or not flight.readings.arrived() or not first.alike(flight):
                break
            alike.append(flight)
        return alike

    def _keep(self, flight: Flight, frame: np.ndarray, seconds: float) -> None:
        step = flight.step
        monitor, columns = self.monitor, self.monitor.sampler.columns
        if self.columns != len(columns):
            self.columns = len(columns)
            monitor._history.grow(columns, self.room)
            if monitor.ledger is not None:
                monitor.ledger.columns(list(columns))
                if hasattr(monitor.ledger, "observe"):
                    for name, parameter in monitor.sampler.new_parts():
                        monitor.ledger.observe("sharded", {"over": holders(parameter)}, name)
        monitor._history.frame(step, frame)
        if monitor.ledger is not None:
            monitor.ledger.frame(step, frame, seconds)
            monitor.ledger_problem()
        if not flight.sound or not 0 <= step - self.judged < JUDGED:
            self.unjudged.append((step, frame))
            self.judged = step
        if not flight.sound or len(self.unjudged) >= JUDGED:
            self.judge()
        if monitor.writers:
            values = {f"{quantity}/{subject}": float(value) for (quantity, subject), value, seen in zip(columns, frame, ~is_absent(frame)) if seen}
            for writer in monitor.writers:
                writer(step, values)

    def judge(self) -> None:
        """Several at once, while their code is warm; one whose gradient is not finite does not wait."""
        unjudged, self.unjudged = self.unjudged, []
        columns = self.monitor.sampler.columns
        for step, frame in unjudged:
            if len(frame) < len(columns):  # columns were added since
                frame = np.concatenate([frame, blank(len(columns) - len(frame))])
            self.monitor.judge_frame(step, frame, ~is_absent(frame))
