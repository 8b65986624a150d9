"""Re-entrant activation checkpointing whose inputs need no gradient."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.wiring import listed, module_of, optimizers, parameters
from whyloss.checks.wiring.graph_detached import unreached


@dataclass(frozen=True)
class CheckpointWithoutGradient(Check):
    """Layers run inside a re-entrant checkpoint that is given no input with a gradient.

    Sees      calls of the re-entrant checkpoint with gradients on, whether any input and any output wants a gradient;
              trainable parameters that no backward reaches.
    Expects   an input that requires a gradient, or the kind of checkpoint that is not re-entrant.
    Means     the layers inside get no gradient: behind a frozen embedding, adapters never train.
    Not for   checkpoints around frozen layers only, the kind that is not re-entrant.
    Source    torch.utils.checkpoint: with use_reentrant=True at least one input must require a gradient.
    """

    calls: int = 3

    stage = "wiring"
    needs = (Need("checkpoint_without_gradient"), Need("parameter"))
    isolates = "checkpointing lets the gradient through"
    causes = ("checkpoint-cuts-gradient",)

    def judge(self, evidence, run):
        lost = unreached(evidence, run)
        if not optimizers(evidence, run):
            lost = [name for name, row in parameters(evidence, run) if row["requires_grad"] and not row["reached"]]
        raised = evidence.has("gradient_free_loss", run)
        for where, column in evidence.by_subject("checkpoint_without_gradient", run).items():
            if not lost or len(column) < (1 if raised else self.calls):
                continue
            modules = list(dict.fromkeys(module_of(name) for name in lost))
            yield self.prove(
                "checkpoint-cuts-gradient", subject=modules[0], step=0, location=where,
                measured=f"re-entrant checkpoint called {len(column)} times with {column.first.value} tensors, none of which requires a gradient; "
                         f"{len(lost)} trainable tensors reached by no backward ({listed(modules)})",
                expected="an input that requires a gradient",
                message=f"The checkpoint at {where} is re-entrant and none of its inputs requires a gradient, so {listed(modules)} get none.",
                remedies=(f"use checkpoint(..., use_reentrant=False) ({where})",
                          "or call requires_grad_() on its first input (enable_input_require_grads in Hugging Face models)"),
                explains=("plateau-high", "flat-from-start", "gradient-none", "parameters-unchanged"))
            return
