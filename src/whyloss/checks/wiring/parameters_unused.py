"""Layers that take no part in the forward pass."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.wiring import learned, listed, parameters


@dataclass(frozen=True)
class ParametersUnused(Check):
    """A layer is built and never called.

    Sees      modules with parameters that are never called, though the model they belong to is.
    Expects   every layer takes part in some forward pass.
    Means     a line in forward is missing, or uses another layer twice: the model is smaller than designed.
    Not for   experts without tokens in a step, auxiliary heads (a note), weights used without calling their module.
    Source    module calls and graph walk: parameters never among the leaves of any loss.
    """

    share: float = 0.3  # of the trainable tensors, in a run that does not learn: a suspicion

    stage = "wiring"
    needs = (Need("parameter"), Need("layer"))
    isolates = "every layer is used"
    causes = ("parameters-unused",)

    def judge(self, evidence, run):
        never = [name for name in evidence.by_subject("module_never_called", run)]
        rows = [(name, row) for name, row in parameters(evidence, run) if row["requires_grad"] and row["in_model"]]
        unused = [name for name, row in rows if not row["reached"] and any(name.startswith(f"{m}.") for m in never)]
        # attention reads the weights of its out_proj without calling it
        alone = [m for m in never if not m.endswith(".out_proj") and any(name.startswith(f"{m}.") for name in unused)]
        if not alone or evidence.by_subject("cut", run) or evidence.by_subject("checkpoint_without_gradient", run):
            return
        outer = [m for m in alone if not any(m.startswith(f"{other}.") for other in alone)]
        known = evidence.has("learned", run) and not learned(evidence, run)
        say = self.suspect if known and len(unused) >= self.share * len(rows) else self.note
        yield say(
            "parameters-unused", subject=outer[0], step=0,
            measured=f"{listed(outer)} never called; {len(unused)} of {len(rows)} trainable tensors unused",
            expected="every layer called in forward",
            message=f"{listed(outer)} are built, but forward never calls them.",
            remedies=(f"call {outer[0]} in forward, or remove it",), explains=("plateau-high", "gradient-none"))
