"""Which column of a log counts what: steps, epochs, time; which words tell phases, runs or metrics apart. By name, then by what the numbers do."""

import re
from functools import lru_cache

import numpy as np

# best first: of several counters in one log, the one that never starts again
STEPS = (
    "global_step", "total_timesteps", "timesteps_total", "num_timesteps", "total_env_steps", "totalenvinteracts", "total_num_steps", "env_steps",
    "timesteps", "total_steps", "num_env_steps", "frames", "step", "steps", "training_step", "train_step", "optimizer_step", "current_step",
    "_step", "iteration", "iterations", "training_iteration", "iter", "iters", "num_iterations", "n_iter", "num_updates", "n_updates", "updates",
    "update", "batch_idx", "batch_num", "batch", "it",
)
EPOCHS = "epoch", "epochs", "epoche", "epochen", "epoca", "_epoch", "epoch_num", "current_epoch", "num_epoch", "n_epoch", "total_epochs"
EPISODES = "episode", "episodes", "num_episodes", "total_episodes", "episodes_total"
SECONDS = (
    "wall_time", "walltime", "timestamp", "_timestamp", "relative_time", "time_total_s", "time_elapsed", "elapsed_time", "elapsed", "total_time",
    "total_duration", "runtime", "_runtime", "time", "seconds", "secs", "duration", "date", "datetime", "created_at", "asctime",
)
PHASE = "phase", "split", "mode", "stage", "set", "subset", "dataset", "partition", "type"
RUNS = "run", "run_id", "run_name", "run_uuid", "trial", "trial_id", "trial_name", "experiment", "experiment_id", "exp_name", "seed"
METRIC, VALUE = ("metric", "metric_name", "tag", "key", "name", "variable"), ("value", "metric_value", "values")
PHASES = {
    "train": "train",
    "training": "train",
    "trn": "train",
    "val": "val",
    "valid": "val",
    "validation": "val",
    "dev": "val",
    "eval": "eval",
    "evaluation": "eval",
    "evaluate": "eval",
    "test": "test",
    "testing": "test",
    "validate": "val",
}
# a counter's name behind one of these is the interval of a metric: "loss/epoch", "acc/step"
_MEASURED = re.compile(r"loss|acc|err|reward|return|score|mae|mse|perplexity|ppl|len|lr|rate|norm|grad|reg|f1|auc|prec|recall")


@lru_cache(maxsize=4096)
def short(name: str) -> str:
    """A name for comparing: lower case, words joined by "_"."""
    return re.sub(r"[^a-z0-9_]+", "_", name.strip().lower()).rstrip("_") or name.strip().lower()


@lru_cache(maxsize=4096)
def _forms(name: str) -> tuple[str, ...]:
    parts = re.split(r"[/.:|]", name.strip())
    if len(parts) > 1 and _MEASURED.search("/".join(parts[:-1]).lower()):
        return (short(name),)
    camel = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", parts[-1])  # globalStep, TotalSteps
    return short(name), short(parts[-1]), short(camel)


def rank(name: str, known: tuple[str, ...]) -> int | None:
    """The place of a column's name in a list of known names, or None."""
    forms = _forms(name)
    return next((place for place, each in enumerate(known) if each in forms), None)


def is_counter(name: str) -> bool:
    """Whether a name counts or times (a step, an epoch, a time) and so is no metric."""
    return any(rank(name, known) is not None for known in (STEPS, EPOCHS, SECONDS))


ENDS = 1 << 18   # of a long column, from each end


def counts(values: np.ndarray, *, whole: bool = True) -> bool:
    """Whether numbers behave as a counter: not negative, (whole,) and hardly ever going back, restarts apart."""
    if values.size > 4 * ENDS:
        values = np.concatenate([values[:ENDS], values[-ENDS:]])  # what counts there counts in between
    if not np.isfinite(values.sum() if values.size else 0.0):  # one pass: long columns are mostly finite
        values = values[np.isfinite(values)]
    if not values.size or values.min() < 0:
        return values.size > 0 and values.min() == -1 and counts(values[values >= 0], whole=whole)  # "-1" before training
    if whole and not (values[0] == np.floor(values[0]) and bool((values == np.floor(values)).all())):
        return False
    backs = int(np.count_nonzero(values[1:] < values[:-1]))
    return backs <= max(2, 0.34 * values.size)


def phase_prefix(word: str) -> str | None:
    return PHASES.get(word.strip().lower())


@lru_cache(maxsize=4096)
def with_phase(name: str, phase: str) -> str:
    """The metric's name with its phase, unless the name tells it already."""
    words = re.split(r"[^a-z]+", name.lower())
    return name if any(PHASES.get(word) for word in words) else f"{phase}/{name}"
