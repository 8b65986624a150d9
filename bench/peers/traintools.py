"""traintools: documented use is BatchInspector, GradientHealthMonitor between backward and step, and TraintoolsTracker.step."""

from traintools import BatchInspector, GradientHealthMonitor
from traintools.callbacks.pytorch import TraintoolsTracker

PACKAGE, LINES, MODE = "traintools", "9", "live"
CAUSES = {   # by a phrase of the warning
    "non-finite values": {"non-finite-inputs"},
    "abs max": {"inputs-not-normalised", "targets-not-normalised"},
    "nearly constant": {"constant-inputs", "single-class-batches"},
    "dominant class": {"class-imbalance", "single-class-batches", "negatives-missing"},
    "labels outside": {"output-width-mismatch", "label-maps-differ"},
    "non-finite gradients": {"non-finite-gradient", "root-at-zero", "division-by-zero", "log-of-zero", "exp-overflow", "half-precision-overflow"},
    "appears vanished": {"vanishing-gradients", "graph-detached", "zero-initialisation", "dead-relus"},
    "is very large": {"exploding-gradients", "initial-weights-too-large", "inputs-not-normalised"},
    "ratio is high": {"learning-rate-too-high"},
    "ratio is tiny": {"learning-rate-too-low", "learning-rate-zero", "vanishing-gradients", "update-below-precision"},
    "no gradients found": {"backward-never-called", "graph-detached", "gradients-discarded", "parameters-frozen"},
    "clip": {"gradients-clipped-away", "exploding-gradients"},
    "STOP": set(),            # TrainGuard: no improvement expected
    "under-batched": {"batch-too-small"},
    "Critical layers": {"dead-relus", "saturated-activations", "representation-collapse"},
}


class Kit:
    def __init__(self, run):
        self.inspector, self.health, self.found = BatchInspector(), GradientHealthMonitor(), {}
        self.tracker = TraintoolsTracker(run.model, lambda output, target: run.criterion[0](output, target, **run.criterion[1]), verbose=False)

    def say(self, text, level="warning"):
        key = next((k for k in CAUSES if k in text), text[:40])
        self.found.setdefault(key, {"key": key, "message": text[:200], "level": level})


def start(run):
    return Kit(run)


def after_backward(kit, run):
    for warning in kit.health.inspect(run.model, step=run.iteration, lr=run.optimizer.param_groups[0]["lr"]).warnings:
        kit.say(warning)


def step(kit, run):
    inputs = run.batch[1][0] if run.batch[1] else None
    for warning in kit.inspector.inspect(inputs, run.target, step=run.iteration).warnings if inputs is not None else []:
        kit.say(warning)
    known = run.criterion is not None and len(run.batch[1]) == 1
    decision = kit.tracker.step(step=run.iteration, inputs=inputs if known else None, targets=run.target if known else None,
                                val_loss=run.rows[-1].get("eval_loss") or (run.rows[-2].get("eval_loss") if len(run.rows) > 1 else None))
    if decision and decision.should_stop:
        kit.say("STOP " + decision.reason if hasattr(decision, "reason") else "STOP", "info")


def finish(kit) -> list[dict]:
    for history in (kit.tracker.gns_history, kit.tracker.plasticity_history):
        for result in getattr(history, "results", getattr(history, "_results", []))[-1:]:
            for line in str(result).splitlines():
                if line.strip().startswith(">") or "!" in line:   # its advice lines
                    kit.say(("under-batched " if "below the critical batch" in line else "") + line.strip(), "info")
    return list(kit.found.values())
