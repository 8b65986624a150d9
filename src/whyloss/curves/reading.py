"""The judgement of one curve."""

from dataclasses import dataclass
from math import nan


@dataclass(frozen=True)
class CurveReading:
    """What one curve says. Levels and noise in loss units, NaN where there is too little; confidence 0..1. also: further true labels (a very slow
    fall is `still-improving`, also `flat-from-start`); segments: (first step, last step, "falling", "flat", ... or "run: label"); events: spikes."""

    label: str
    also: tuple[str, ...] = ()
    detail: str = ""
    turning_step: int | None = None
    first_bad_step: int | None = None
    first: float = nan
    last: float = nan
    best: float = nan
    noise: float = nan
    confidence: float = 0.0
    segments: tuple[tuple[int, int, str], ...] = ()
    events: tuple[int, ...] = ()
