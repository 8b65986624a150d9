"""torch-audit: documented use is autopatch(model, optimizer=...) before the loop and finish() behind it; here every 10th step.

Its speed hints (TA2..) are not counted as alarms.
"""

import torch_audit

PACKAGE, LINES, MODE = "torch-audit", "5", "live"
CAUSES = {
    "TA100": {"non-finite-gradient", "learning-rate-too-high", "initial-weights-too-large", "half-precision-overflow", "exploding-gradients"},
    "TA102": {"exploding-gradients", "learning-rate-too-high"},
    "TA103": {"dead-relus", "zero-initialisation", "vanishing-gradients", "graph-detached"},
    "TA104": {"backward-never-called", "parameters-frozen", "graph-detached", "gradients-discarded"},
    "TA105": {"dead-relus", "learning-rate-too-high"},
    "TA301": {"inputs-not-normalised"},
    "TA302": {"constant-inputs", "output-ignores-input"},
    "TA303": {"axes-transposed"},
    "TA304": {"batch-statistics-unreliable", "batch-too-small"},
    "TA305": {"label-maps-differ"},
    "TA401": {"weight-decay-too-strong"},
    "TA402": {"weight-decay-too-strong"},
    "TA405": {"zero-initialisation"},
    "TA500": {"model-drops-information", "modules-not-registered"},
    "TA501": {"running-statistics-off", "train-mode-while-evaluating"},
}
LEVEL = {"INFO": "info", "WARN": "warning", "ERROR": "error", "FATAL": "error"}
ORDER = {"error": 0, "warning": 1, "info": 2}


def start(run):
    return torch_audit.autopatch(run.model, optimizer=run.optimizer, every_n_steps=10, run_static=True, run_init=True)


def finish(auditor) -> list[dict]:
    seen = {}
    for f in auditor.finish(report=False).findings:
        seen.setdefault((f.rule_id, f.module_path), {"key": f.rule_id, "message": f.message,
                                                      "level": "info" if f.rule_id.startswith("TA2") else LEVEL[f.severity.value]})
    return sorted(seen.values(), key=lambda f: ORDER[f["level"]])
