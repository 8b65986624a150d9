"""The last and the most telling samples in memory, bounded: thinned as a ledger is, so that a long run costs no more than a short one."""

import numpy as np

from whyloss.evidence import Evidence
from whyloss.observation import Run
from whyloss.sources.framefile import blank, is_absent
from whyloss.sources.thinning import staying

LEAST, MOST = 64, 4096
LOSSES = 4096      # losses kept, one for each optimizer step at first


class History:
    """Frames of float32, `limit` of them at most. Columns may be added at the end."""

    def __init__(self) -> None:
        self.limit = LEAST
        self.columns: list[tuple[str, str]] = []
        self._steps: list[int] = []
        self._frames: list[np.ndarray] = []
        self._events: list[int] = []
        self._losses: dict[str, tuple[list[int], list[float]]] = {}
        self._every: dict[str, int] = {}
        self._facts: list[tuple] = []

    def grow(self, columns, room: int) -> None:
        """The frames have these columns from now on, and may take so many bytes."""
        self.columns = columns
        self.limit = min(MOST, max(LEAST, room // (4 * max(1, len(columns)) + 100)))

    def observe(self, quantity: str, subject: str, step: int, value: float) -> None:
        """A number beside the frames: a validation loss."""
        self._facts = [*self._facts[-1023:], (quantity, subject, step, value)]

    def __len__(self) -> int:
        return len(self._steps)

    def frame(self, step: int, values: np.ndarray) -> None:
        """values: (columns,) float32, ABSENT where not measured"""
        self._steps.append(step)
        self._frames.append(values)
        if len(self._steps) > self.limit:
            self._thin()

    def loss(self, subject: str, step: int, value: float) -> None:
        steps, values = self._losses.setdefault(subject, ([], []))
        every = self._every.get(subject, 1)
        if step % every == 0 or value != value:
            steps.append(step)
            values.append(value)
            if len(steps) > LOSSES:
                self._every[subject] = 2 * every
                kept = [i for i, at in enumerate(steps) if at % (2 * every) == 0 or values[i] != values[i]][-LOSSES:]
                self._losses[subject] = [steps[i] for i in kept], [values[i] for i in kept]

    def event(self, step: int) -> None:
        """Something happened: the frames around it stay."""
        self._events = [*self._events[:63], step]

    def _thin(self) -> None:
        steps = np.array(self._steps, np.int64)
        lead = np.array([frame[0] for frame in self._frames], np.float32)
        kept = staying(steps, np.zeros(len(steps), np.int64), lead, np.array(self._events, np.int64), self.limit // 2)
        if kept.all():
            kept[1:-1:2] = False
        self._steps = steps[kept].tolist()
        self._frames = [frame for frame, stays in zip(self._frames, kept) if stays]

    def evidence(self, run: str = "main") -> Evidence:
        """What is still held, by column; the losses of all steps where they are."""
        evidence = Evidence()
        evidence.add_run(Run(run, "watched"))
        for subject, (steps, values) in self._losses.items():
            for step, value in zip(steps, values):
                evidence.add("loss", value, subject=subject, step=step, run=run)
        for quantity, subject, step, value in self._facts:
            evidence.add(quantity, value, subject=subject, step=step, run=run)
        known = {("loss", subject) for subject in self._losses}
        if not self._steps:
            return evidence
        table = blank(len(self.columns), len(self._steps))
        for row, frame in zip(table, self._frames):
            row[:len(frame)] = frame
        there = ~is_absent(table)
        for at, (quantity, subject) in enumerate(self.columns):
            if (quantity, subject) not in known:
                for row in np.flatnonzero(there[:, at]).tolist():
                    evidence.add(quantity, float(table[row, at]), subject=subject, step=self._steps[row], run=run)
        return evidence
