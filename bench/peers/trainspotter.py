"""trainspotter: reads the log a run leaves. Documented use: `trainspotter analyze metrics.csv`."""

from trainspotter import load_run, run_all

PACKAGE, LINES, MODE = "trainspotter", "0 + a log", "reader"
HIGH = {"learning-rate-too-high", "exploding-gradients"}
CAUSES = {   # by title; the fixes it prints are taken as causes too
    "Plateau": {"learning-rate-too-low", "learning-rate-zero", "parameters-frozen", "graph-detached", "scheduler-collapses-learning-rate"},
    "Overfitting onset": {"overfitting"},
    "Gradient-norm explosion": HIGH,
    "Gradient clipping likely saturated": {"gradients-clipped-away"},
    "No LR warmup detected": set(),
    "LR increased after its peak": {"scheduler-misordered", "stale-optimizer-parameters"},
    "LR discontinuity": {"scheduler-misordered", "scheduler-collapses-learning-rate"},
    "Diverged (non-finite values)": HIGH | {"division-by-zero", "log-of-zero", "half-precision-overflow", "non-finite-gradient"},
    "Diverged (sustained growth)": HIGH,
    "Loss spike": HIGH | {"labels-corrupted", "padding-in-loss"},
    "Suspiciously low loss early (heuristic)": {"target-leak", "validation-leak"},
}
ORDER = {"error": 0, "warning": 1, "info": 2}


def read(log: str) -> list[dict]:
    findings = run_all(load_run(log))
    findings.sort(key=lambda f: (ORDER[f.severity], f.step_start))   # as its report orders them
    return [{"key": f.title, "message": f.message, "level": f.severity} for f in findings]
