"""TrainCheck: documented use is four commands: collect a trace of a run known to be good, infer its invariants, collect a trace
of the run in question, check it. The good run is the healthy twin (or the look-alike itself) with another seed.

Its instrumentation takes seconds per step, so the copies it traces end after STEPS backwards.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

PACKAGE, LINES, MODE, STEPS = "traincheck", "0 + 4 commands + a good run", "commands", 12
STOP = f"""import torch as _t, sys as _s
_backward, _count = _t.Tensor.backward, []
def _counted(self, *a, **k):
    if len(_count) >= {STEPS}: _s.exit(0)
    _count.append(1)
    return _backward(self, *a, **k)
_t.Tensor.backward = _counted
"""
CAUSES = {   # by a phrase of the broken invariant
    "Optimizer.step": {"step-never-called", "scheduler-misordered", "update-does-not-land"},
    ".step": {"step-never-called", "scheduler-misordered", "update-does-not-land"},
    "zero_grad": {"gradients-not-cleared", "gradients-discarded"},
    "backward": {"backward-never-called", "loss-on-wrong-tensor", "graph-detached"},
    "requires_grad": {"parameters-frozen", "graph-detached"},
    "no_grad": {"graph-detached"},
    "grad": {"graph-detached", "non-finite-gradient", "parameters-not-in-optimizer", "stale-optimizer-parameters"},
    "lr_scheduler": {"scheduler-misordered", "scheduler-collapses-learning-rate", "setting-not-applied"},
    "softmax": {"softmax-before-cross-entropy", "softmax-over-wrong-dimension", "softmax-over-one-element", "nll-without-log-softmax"},
    "sigmoid": {"sigmoid-before-bce-with-logits", "targets-out-of-reach", "saturated-activations"},
    "relu": {"activation-on-logits", "missing-nonlinearity", "dead-relus"},
    "clip_grad": {"gradients-clipped-away", "clip-before-unscale"},
    "init": {"initial-weights-too-large", "initial-weights-too-small", "zero-initialisation"},
    "dropout": {"dropout-too-strong", "train-mode-while-evaluating", "eval-mode-while-training"},
    "training": {"train-mode-while-evaluating", "eval-mode-while-training"},
    "batch_norm": {"batch-statistics-unreliable", "running-statistics-off"},
    "other": set(),
}


def command(folder, seed, timeout, name, *arguments):
    program, environment = str(Path(sys.executable).with_name(f"traincheck-{name}")), {**os.environ, "SEED": str(seed), "OMP_NUM_THREADS": "1"}
    run = subprocess.run([program, *map(str, arguments)], cwd=folder, text=True, capture_output=True, env=environment, timeout=timeout)
    if run.returncode:
        raise RuntimeError(f"{name}: {(run.stderr or run.stdout).strip()[-200:]}")


def trace(script, seed, folder, name, timeout):
    copy = Path(folder, f"{name}.py")
    copy.write_text(STOP + Path(script).read_text())
    command(folder, seed, timeout, "collect", "-p", copy, "--models-to-track", "--output-dir", Path(folder, name))
    return Path(folder, name)


def prepare(good, seed, folder, timeout=60):
    """The good run and its invariants."""
    reference = trace(good, seed + 1, folder, "reference", timeout)
    command(folder, seed, timeout, "infer", "-f", reference, "-o", Path(folder, "invariants.json"))


def diagnose(script, seed, folder, kind, timeout=60):
    """-> the broken invariants of one script, in the order of its report."""
    traced = trace(script, seed, folder, kind, timeout)
    checked, found = Path(folder, f"{kind}-checked"), []
    command(folder, seed, timeout, "check", "-f", traced, "-i", Path(folder, "invariants.json"), "--no-html-report", "-o", checked)
    for file in sorted(checked.rglob("failed.log")):
        decoder, text = json.JSONDecoder(), file.read_text().strip()
        while text:
            broken, end = decoder.raw_decode(text)
            text = text[end:].strip()
            words = json.dumps(broken.get("invariant", broken))[:4000]
            said = (broken.get("invariant") or {}).get("text_description") or words[:200]
            found.append({"key": next(k for k in CAUSES if k in said or k == "other"), "message": said[:200], "level": "warning"})
    return found
