"""What is kept of one run when thousands are read: label, ends, settings and two small fingerprints; never the curve."""

import hashlib
import os
import re
from dataclasses import dataclass, field
from math import isfinite, nan
from pathlib import PurePath

import numpy as np

from whyloss.diagnosis.reading.run import BROKEN, RunReading, is_broken

SKETCH = 16  # places at which a curve is remembered
LONGEST_TEXT = 240
UNJUDGED = {"too-short-to-tell", "not-a-loss-curve"}
# keys that name a run or a place and change nothing in the training
NAMES = re.compile(
    r"(^|[._/ -])(name|id|dir|path|folder|tag|tags|date|time|timestamp|host|hostname|version|notes|user|url|output|logdir|group|created|uuid|commit|"
    r"device)s?$",
    re.I,
)

RESULTS = re.compile(r"^(summary|_)|loss|runtime|per_second|accuracy|total_flos|best_|metric|global_step|elapsed|seconds", re.I)


@dataclass(frozen=True)
class RunSummary:
    """One row. digest: of the judged values, bit by bit, or "" for too few; sketch: (16,) values at even places; settings: name -> number or text;
    folder: where the log lies, "" where that is not known."""

    id: str
    label: str
    also: tuple[str, ...] = ()
    detail: str = ""
    confidence: float = 0.0
    first_bad_step: int | None = None
    turning_step: int | None = None
    step_unit: str = "step"
    points: int = 0
    first: float = nan
    last: float = nan
    settings: dict = field(default_factory=dict)
    digest: str = ""
    sketch: tuple[float, ...] = ()
    contradiction: str = ""
    format: str = ""
    folder: str = ""

    @property
    def broken(self) -> bool | None:
        """None where the run could not be judged."""
        unsure = self.label in BROKEN and not is_broken(self.label, self.confidence)
        return None if self.label in UNJUDGED or unsure else self.label in BROKEN

    @property
    def since(self) -> int | None:
        """First bad step, else the turning step of a fault; 0 is the start for a run that was flat throughout."""
        if self.first_bad_step is not None or not self.broken:
            return self.first_bad_step
        return 0 if "flat" in self.label and self.turning_step is None else self.turning_step


def summarise(reading: RunReading) -> RunSummary:
    """The row of one reading; the reading and its curves can be dropped after it."""
    series, curve = reading.judged, None
    values = series.values if series is not None else np.array([])
    finite = values[np.isfinite(values)]
    run = reading.run
    settings = settings_of(run.settings, run.id) if run is not None else {}
    varied = finite.size >= 5 and np.ptp(finite) > 0
    curve = reading.curves.get(series.name) if series is not None else None
    return RunSummary(
        reading.id,
        reading.label,
        reading.also,
        reading.detail[:LONGEST_TEXT],
        reading.confidence,
        reading.first_bad_step,
        reading.turning_step,
        reading.step_unit,
        int(values.size),
        curve.first if curve else float(finite[0]) if finite.size else nan,
        curve.last if curve else float(finite[-1]) if finite.size else nan,
        settings,
        hashlib.blake2b(np.ascontiguousarray(values, float).tobytes(), digest_size=16).hexdigest() if varied else "",
        tuple(float(v) for v in values[np.linspace(0, values.size - 1, SKETCH).astype(int)]) if varied else (),
        contradiction(reading, settings),
        run.format if run is not None else "",
        os.path.dirname(str(run.files[0])) if run is not None and run.files else "",
    )


def settings_of(logged: dict, run_id: str) -> dict:
    """Scalar settings by name, nested ones joined with dots; then those the path spells out ("lr=0.1", "lr_1e-4", "bs32")."""
    flat = {}
    _flatten("", logged, flat)
    for part in PurePath(run_id.split("#")[0]).parts[-4:-1] + ((run_id.split("#")[1],) if "#" in run_id else ()):
        for key, value in re.findall(r"(?:^|[_\-,. /])([A-Za-z][A-Za-z_]+?)[=_\-]?(\d+(?:\.\d+)?(?:e-?\d+)?)(?=$|[_\-,. /])", part):
            key = key.strip("_").lower()
            if key and key not in ("version", "v", "run", "checkpoint", "epoch", "step", "e") and f"{key} (in the path)" not in flat:
                flat[f"{key} (in the path)"] = float(value)
    return flat


def _flatten(prefix, value, flat, depth=0):
    for key, v in value.items():
        name = f"{prefix}{key}"
        if isinstance(v, dict) and depth < 4:
            _flatten(f"{name}.", v, flat, depth + 1)
        elif isinstance(v, bool) or v is None:
            flat[name] = str(v)
        elif isinstance(v, (int, float)):
            flat[name] = float(v)
        elif isinstance(v, (str, list, tuple)) and len(flat) < 500:
            flat[name] = str(v)[:80]


def contradiction(reading: RunReading, settings: dict) -> str:
    """A stated learning rate that the log's own column contradicts, in words; "" where they agree or nothing is stated."""
    if reading.run is None or not reading.roles.learning_rates:
        return ""
    stated = {
        k: v
        for k, v in settings.items()
        if isinstance(v, float) and k.lower().split(" ")[0].split(".")[-1] in ("lr", "learning_rate", "learningrate", "base_lr", "max_lr")
    }
    rates = [reading.run.series[n] for n in reading.roles.learning_rates]
    rates = [s for s in rates if len(s) >= 3 and np.isfinite(s.values).all() and s.values.max() > 0]
    if not rates or not stated:
        return ""
    peak = max(float(s.values.max()) for s in rates)
    early = rates[0].steps[int(np.argmax(rates[0].values))] <= rates[0].steps[0] + 0.1 * np.ptp(rates[0].steps)
    for name, value in stated.items():
        # a peak that is far too high is a contradiction; one that is too low only where the log begins near the peak
        if value > 0 and isfinite(value) and (peak > 1.5 * value or early and peak < 0.4 * value):
            return f"{name} is {value:g}, but the logged learning rate peaks at {peak:.4g}: the setting was not applied"
    return ""
