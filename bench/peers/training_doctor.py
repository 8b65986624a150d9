"""training-doctor: documented use on a finished log is Doctor().load("metrics.csv") and analyze()."""

from training_doctor import Doctor

PACKAGE, LINES, MODE = "training-doctor", "3", "reader"
CAUSES = {
    "Learning rate likely too high": {"learning-rate-too-high", "exploding-gradients"},
    "Learning rate may be too low": {"learning-rate-too-low", "learning-rate-zero", "constant-inputs"},
    "Training plateau detected": {"batch-too-small", "underfitting", "learning-rate-too-high"},
    "Early training plateau": {"learning-rate-too-low", "learning-rate-zero", "constant-inputs", "parameters-frozen", "gradients-not-cleared"},
    "Overfitting detected": {"overfitting"},
    "Unusual train/eval pattern": {"validation-leak", "target-leak"},
    "Gradient instability detected": {"exploding-gradients", "vanishing-gradients", "non-finite-gradient", "learning-rate-too-high",
                                      "division-by-zero", "dead-relus"},
    "Possible mixed precision instability": {"half-precision-overflow", "half-precision-underflow"},
}


def read(log: str) -> list[dict]:
    doctor = Doctor()
    doctor.set_auto_print(False)
    doctor.load(log)
    return [{"key": d.problem, "message": "; ".join(str(e) for e in d.evidence)[:300],
             "level": "error" if d.severity.value == "critical" else d.severity.value} for d in doctor.analyze()]
