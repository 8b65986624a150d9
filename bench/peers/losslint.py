"""losslint: reads the log a run leaves. Documented use: `losslint check metrics.csv`."""

from pathlib import Path

import losslint.checks
import losslint.parsing

PACKAGE, LINES, MODE = "losslint", "0 + a log", "reader"
CAUSES = {
    "nan_inf": {"non-finite-gradient", "learning-rate-too-high", "non-finite-inputs"},
    "divergence": {"learning-rate-too-high", "loss-sign-flipped", "exploding-gradients"},
    "loss_spike": {"learning-rate-too-high"},
    "overfit_onset": {"overfitting"},
    "stagnation": {"learning-rate-too-low", "learning-rate-zero"},   # "consider stopping or raising the LR"
}


def read(log: str) -> list[dict]:
    run = losslint.parsing.load_run(Path(log))
    return [{"key": f.check, "message": f.message, "level": f.severity} for f in losslint.checks.run_all_checks(run)]
