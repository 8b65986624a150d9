"""Which of several findings is the cause and which follow from it: the order of precedence, as a table."""

from whyloss.finding import Finding

# Earlier explains later: a loop that never steps also leaves gradients uncleared and parameters unchanged.
PRECEDENCE = [
    "backward-never-called", "step-never-called", "forward-outside-loop", "modules-not-registered", "stale-optimizer-parameters",
    "update-does-not-land", "checkpoint-cuts-gradient", "loss-term-without-gradient", "loss-on-wrong-tensor",
    "non-differentiable-operation", "graph-detached", "pretrained-weights-not-loaded", "parameters-frozen", "parameters-not-in-optimizer",
    "gradients-discarded", "learning-rate-zero", "setting-not-applied", "loss-sign-flipped", "clip-before-unscale",
    "gradients-clipped-away", "gradients-not-cleared", "accumulation-not-normalised", "scheduler-collapses-learning-rate",
    "scheduler-misordered",
    "gradients-not-reduced", "ranks-diverge", "ranks-see-same-data", "batch-statistics-not-synchronised",
    "samples-mixed",
    "non-finite-inputs", "constant-inputs", "softmax-over-one-element", "loss-broadcasts", "labels-corrupted", "softmax-over-wrong-dimension",
    "nll-without-log-softmax", "sigmoid-before-bce-with-logits", "softmax-before-cross-entropy", "output-width-mismatch",
    "loss-does-not-fit-task", "targets-out-of-reach", "activation-on-logits", "bce-on-logits", "loss-reduction-scale",
    "optimizer-epsilon", "half-precision-overflow", "half-precision-underflow", "update-below-precision", "log-of-zero",
    "division-by-zero", "root-at-zero", "exp-overflow", "non-finite-gradient",
    "zero-initialisation", "symmetric-initialisation", "initial-weights-too-large", "initial-weights-too-small", "dead-relus",
    "inputs-not-normalised", "saturated-activations", "vanishing-gradients", "exploding-gradients", "eval-mode-while-training",
    "running-statistics-off", "batch-statistics-unreliable", "target-leak", "train-eval-preprocessing-differs", "label-maps-differ",
    "weight-decay-too-strong",  # a lower rate helps against it too: it scales the decay as well
]
_RANK = {cause: at for at, cause in enumerate(PRECEDENCE)}
_STATUS = {"proven": 0, "confirmed": 0, "suspected": 1, "note": 2}


def rank(finding: Finding) -> tuple:
    """Sort key: sure findings first, then precedence."""
    return _STATUS[finding.status], _RANK.get(finding.cause, len(_RANK))


def ordered(findings: list[Finding]) -> list[Finding]:
    """Principal cause first; one finding a cause and subject."""
    seen, result = set(), []
    for finding in sorted(findings, key=rank):
        key = (finding.cause, finding.subject)
        if key not in seen:
            seen.add(key)
            result.append(finding)
    return result
