"""torchdiag: documented use is check_dead_neurons, verify_step and, after a backward, check_gradients, on one batch."""

import contextlib
import io

import torch
import torchdiag

PACKAGE, LINES, MODE = "torchdiag", "6", "once"
CUT = {"graph-detached", "parameters-frozen", "non-differentiable-operation", "loss-on-wrong-tensor"}
CAUSES = {   # by a phrase of the issue it prints
    "neurons dead": {"dead-relus", "learning-rate-too-high", "initial-weights-too-large"},
    "not finite": {"division-by-zero", "log-of-zero", "exp-overflow", "non-finite-inputs", "half-precision-overflow"},
    "None gradients": CUT,
    "gradient is None": CUT,
    "exploding": {"exploding-gradients", "initial-weights-too-large", "inputs-not-normalised"},
    "vanishing": {"vanishing-gradients", "saturated-activations", "zero-initialisation", "initial-weights-too-small", "dead-relus"},
    "No parameters changed": {"learning-rate-zero", "stale-optimizer-parameters", "parameters-not-in-optimizer", "update-does-not-land"},
    "ALL parameters are frozen": {"parameters-frozen"},
    "FAILED": set(),
}


def check(model, args, kwargs, target, loss_fn, optimizer) -> list[dict]:
    if kwargs or len(args) != 1 or not isinstance(args[0], torch.Tensor):
        raise TypeError("its calls take one input tensor")
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        torchdiag.summary(model)
        torchdiag.check_dead_neurons(model, args[0])
        if loss_fn is not None:
            torchdiag.verify_step(model, optimizer, loss_fn, args[0], target)
            optimizer.zero_grad()
            loss_fn(model(args[0]), target).backward()
            torchdiag.check_gradients(model)
    found = []
    for line in said.getvalue().splitlines():
        key = next((k for k in CAUSES if k in line), None)
        if key and (line.lstrip().startswith("•") or "FAILED" in line):
            found.append({"key": key, "message": line.strip(" •"), "level": "warning"})
    return found
