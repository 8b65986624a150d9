"""GradGlass: documented use is gg.run, checkpoint_every, watch, log each step, log_batch every 10th, analyze, finish."""

import gradglass.analysis.builtins  # noqa: F401  without this import its analyze() runs no test
import torch
from gradglass import gg

PACKAGE, LINES, MODE = "gradglass", "8", "live"
FLAT = {"learning-rate-too-low", "learning-rate-too-high", "underfitting"}
CAUSES = {
    "PARAM_INIT_SANITY": {"zero-initialisation", "initial-weights-too-large", "initial-weights-too-small", "symmetric-initialisation"},
    "TRAINABLE_FROZEN_CONSISTENCY": {"parameters-frozen", "running-statistics-off"},
    "LOSS_FINITE": {"learning-rate-too-high", "non-finite-inputs", "non-finite-gradient"},
    "LOSS_MONOTONIC_TREND": FLAT,
    "LOSS_SPIKE_DETECTION": {"learning-rate-too-high", "exploding-gradients"},
    "TRAIN_VAL_GAP": {"overfitting"},
    "OVERFITTING_HEURISTIC": {"overfitting"},
    "VAL_LOSS_DIVERGENCE": {"overfitting"},
    "UNCHANGED_LAYER_DETECTION": {"parameters-frozen", "step-never-called", "graph-detached", "parameters-not-in-optimizer",
                                  "stale-optimizer-parameters", "learning-rate-zero", "update-does-not-land", "zero-initialisation",
                                  "update-below-precision", "vanishing-gradients", "backward-never-called"},
    "EXCESSIVE_UPDATE_RATIO": {"learning-rate-too-high"},
    "GRAD_NAN_INF": {"non-finite-gradient", "learning-rate-too-high", "exploding-gradients"},
    "GRAD_VANISHING": {"vanishing-gradients", "saturated-activations", "graph-detached", "zero-initialisation", "initial-weights-too-small"},
    "GRAD_EXPLODING": {"exploding-gradients", "initial-weights-too-large"},
    "GRAD_LAYER_IMBALANCE": {"vanishing-gradients", "exploding-gradients"},
    "ACT_NAN_INF": {"non-finite-inputs", "exploding-gradients", "learning-rate-too-high", "division-by-zero", "log-of-zero"},
    "ACT_SPARSITY_COLLAPSE": {"dead-relus"},
    "DEAD_NEURON_RATE": {"dead-relus"},
    "DEAD_CHANNEL_DETECTION": {"dead-relus"},
    "SATURATION_DETECTION": {"saturated-activations", "initial-weights-too-large", "inputs-not-normalised"},
    "REPRESENTATION_COLLAPSE": {"representation-collapse", "output-ignores-input"},
    "LAYER_CAPACITY_UTILIZATION": {"representation-collapse", "output-ignores-input"},
    "PRED_FINITE": {"non-finite-gradient", "learning-rate-too-high"},
    "CONFIDENCE_SHIFT": {"target-leak", "overfitting"},
    "LIME_PROXY_CONFIDENCE": {"representation-collapse", "output-ignores-input"},
    "CLASS_IMBALANCE_CHECK": {"class-imbalance"},
    "WEIGHT_NORM_DISTRIBUTION": {"initial-weights-too-large", "learning-rate-too-high", "initial-weights-too-small"},
    "EPOCH_LOSS_IMPROVEMENT": {"learning-rate-too-high"},
    "PER_RANK_LOSS_DIVERGENCE": {"ranks-diverge"},
}
QUIET = {"ARTIFACT", "REPRODUCIBILITY", "MODEL", "DATA"}   # about its own files and bookkeeping: never counted as an alarm
ORDER = {"CRITICAL": 0, "HIGH": 1, "MEDIUM": 2, "LOW": 3}


def start(run):
    gg.configure(root=str(run.folder), auto_open=False)
    watched = gg.run(name="case", task="classification")
    watched.checkpoint_every(10)
    watched.watch(run.model, optimizer=run.optimizer, activations="auto", gradients="summary", saliency="auto", every=10, probe_examples=16)
    return watched


def step(watched, run):
    watched.log(loss=run.value)
    if (run.iteration + 1) % 10 == 0 and run.batch[1] and isinstance(run.batch[3], torch.Tensor) and isinstance(run.target, torch.Tensor):
        watched.log_batch(x=run.batch[1][0], y=run.target, y_pred=run.batch[3].detach(), loss=run.value)


def finish(watched) -> list[dict]:
    report = watched.analyze(print_summary=False)
    watched.finish(open=False, analyze=False)
    bad = sorted((t for t in report.tests["results"] if t["status"] in ("warn", "fail")),
                 key=lambda t: (t["status"] != "fail", ORDER[t["severity"]]))
    return [{"key": t["id"], "message": t.get("recommendation") or t["title"],
             "level": "info" if t["category"].upper() in QUIET or t["severity"] == "LOW" else "error" if t["status"] == "fail" else "warning"}
            for t in bad]
