"""torchmortem: documented use is `with Autopsy(model, optimizer=optimizer)`, step(loss=...) each iteration, report()."""

import re

from torchmortem import Autopsy

PACKAGE, LINES, MODE = "torchmortem", "4", "live"
HIGH = {"learning-rate-too-high", "exploding-gradients"}
VANISH = {"vanishing-gradients", "saturated-activations", "initial-weights-too-small"}
CAUSES = {   # by the title without the layer's name; the remedies it prints are taken as causes too
    "Gradient starvation": VANISH | {"dead-relus"},
    "Instability feedback loop": HIGH,
    "Representation bottleneck": {"representation-collapse", "dropout-too-strong", "weight-decay-too-strong", "missing-nonlinearity"},
    "Training trapped by loss landscape curvature": {"learning-rate-too-high"},
    "Vanishing gradients detected": VANISH,
    "Exploding gradients detected": HIGH | {"initial-weights-too-large"},
    "Gradient stalling": VANISH | {"dead-relus", "graph-detached", "parameters-frozen", "zero-initialisation"},
    "Dead units": {"dead-relus", "learning-rate-too-high"},
    "Activation saturation": {"saturated-activations", "initial-weights-too-large", "inputs-not-normalised"},
    "Update ratio too low": {"learning-rate-too-low", "vanishing-gradients", "learning-rate-zero"},
    "Update ratio too high": HIGH,
    "High gradient noise": {"batch-too-small", "learning-rate-too-high"},
    "Training divergence detected": HIGH,
    "Loss plateau detected": {"learning-rate-too-low"},
    "Rank collapse": {"representation-collapse", "dropout-too-strong", "weight-decay-too-strong", "learning-rate-too-high"},
    "Weight norm explosion": HIGH,
    "Stagnant weight norms": {"vanishing-gradients", "learning-rate-too-low", "learning-rate-zero", "graph-detached", "step-never-called",
                              "parameters-not-in-optimizer", "stale-optimizer-parameters", "update-does-not-land"},
    "Inter-layer weight norm imbalance": {"initial-weights-too-large", "initial-weights-too-small"},
}
LEVEL = {"INFO": "info", "WARNING": "warning", "CRITICAL": "error"}
ORDER = {"error": 0, "warning": 1, "info": 2}


def start(run):
    autopsy = Autopsy(run.model, optimizer=run.optimizer)
    autopsy.__enter__()
    return autopsy


def step(autopsy, run):
    autopsy.step(loss=run.value)


def finish(autopsy) -> list[dict]:
    autopsy.__exit__(None, None, None)
    report, found = autopsy.get_report(), {}
    for finding in [*getattr(report, "insights", []), *report.findings]:
        key = next((k for k in CAUSES if finding.title.startswith(k)), re.sub(r" in \S+$", "", finding.title))
        level = LEVEL[finding.severity.name] if hasattr(finding, "severity") else "warning"
        found.setdefault((key, finding.title), {"key": key, "message": finding.title, "level": level})
    return sorted(found.values(), key=lambda f: ORDER[f["level"]])
