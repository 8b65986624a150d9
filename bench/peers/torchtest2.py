"""torchtest2: documented use is check_model(model, inputs, targets, loss_fn=..., optimizer=...) before the training."""

import torchtest2

PACKAGE, LINES, MODE = "torchtest2", "2", "once"
CUT = {"graph-detached", "parameters-frozen", "non-differentiable-operation", "loss-on-wrong-tensor", "checkpoint-cuts-gradient",
       "dead-relus", "vanishing-gradients", "zero-initialisation", "model-drops-information", "loss-term-without-gradient"}
CAUSES = {
    "forward": set(),
    "output_finite": {"log-of-zero", "division-by-zero", "exp-overflow", "non-finite-inputs", "half-precision-overflow"},
    "output_varies": {"output-ignores-input", "dead-relus", "saturated-activations", "softmax-over-one-element", "zero-initialisation",
                      "representation-collapse", "constant-inputs"},
    "eval_determinism": {"train-mode-while-evaluating"},
    "loss": {"graph-detached", "non-differentiable-operation", "loss-on-wrong-tensor", "division-by-zero", "log-of-zero", "non-finite-inputs"},
    "initial_loss": {"initial-weights-too-large", "target-leak", "inputs-not-normalised", "loss-reduction-scale", "nll-without-log-softmax"},
    "optimizer_coverage": {"parameters-not-in-optimizer", "stale-optimizer-parameters", "modules-not-registered"},
    "gradient_flow": CUT,
    "gradient_magnitude": {"non-finite-gradient", "root-at-zero", "exploding-gradients", "initial-weights-too-large", "division-by-zero",
                           "log-of-zero", "inputs-not-normalised"},
    "params_change": {"learning-rate-zero", "parameters-not-in-optimizer", "stale-optimizer-parameters", "update-below-precision",
                      "optimizer-epsilon", "update-does-not-land"} | CUT,
    "frozen_params": {"parameters-frozen", "running-statistics-off"},
    "input_dependency": {"output-ignores-input", "model-drops-information"},
    "batch_independence": {"samples-mixed", "axes-transposed", "softmax-over-wrong-dimension", "batch-statistics-unreliable"},
    "overfit_batch": {"learning-rate-too-low", "learning-rate-too-high", "loss-does-not-fit-task", "underfitting", "learning-rate-zero"},
    "gradcheck": {"custom-backward-wrong"},
}
LEVEL = {"FAIL": "error", "WARN": "warning"}


def check(model, args, kwargs, target, loss_fn, optimizer) -> list[dict]:
    inputs = kwargs if kwargs and not args else args[0] if len(args) == 1 else args
    given = {} if loss_fn is None else {"targets": target, "loss_fn": loss_fn}
    report = torchtest2.check_model(model, inputs, optimizer=optimizer, **given)
    found = [{"key": r.name, "message": r.message, "level": LEVEL[r.status.value]} for r in report if r.status.value in LEVEL]
    return sorted(found, key=lambda f: f["level"] != "error")   # failures before warnings
