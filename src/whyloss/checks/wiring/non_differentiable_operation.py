"""An operation without a slope on the path to the loss."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.wiring import listed, module_of, parameters
from whyloss.checks.wiring.graph_detached import COUNTS, unreached


@dataclass(frozen=True)
class NonDifferentiableOperation(Check):
    """Rounding, sign, comparison, argmax, an integer cast or a plain random draw lies on the path to the loss.

    Sees      such operations among the loss's ancestors; parameters whose gradient is exactly 0, or none, at every
              backward.
    Expects   a gradient that is not zero somewhere in front of the operation.
    Means     the operation is flat between its jumps (gradient 0), or gives integers (no gradient at all); torch.normal(mean, std) draws without
              a gradient to mean and std, and later layers are trained on the draw.
    Not for   straight-through estimators (the gradient is not zero), labels and masks, a zero head at the first step; draws that are scored
              by their log-probability.
    Source    Bengio et al. 2013, arXiv 1308.3432; zero at 3 backwards or more, because LoRA and zero heads start at 0.
    """

    backwards: int = 3

    stage = "wiring"
    needs = (Need("parameter"), Need("grad_state", points=3))
    isolates = "every operation on the path has a slope"
    causes = ("non-differentiable-operation",)

    def judge(self, evidence, run):
        states = {name: set(column.values) for name, column in evidence.by_subject("grad_state", run).items()
                  if len(column) >= self.backwards}
        flat = [name for name, row in parameters(evidence, run)
                if row["reached"] and row["requires_grad"] and states.get(name) == {"zero"}]
        alive = any("finite" in seen for seen in states.values())
        for where, column in evidence.by_subject("step_function", run).items():
            if flat and alive and len(column) >= self.backwards:
                yield self._prove(where, column.first.value["operation"].rstrip("_"), flat, "a gradient of exactly 0")
                return
        for where, column in evidence.by_subject("drawn", run).items():
            if len(column) >= self.backwards:
                yield self._drawn(where, column.first.value)
                return
        lost = unreached(evidence, run)
        cuts = evidence.by_subject("cut", run)
        cutting = {where: column.first.value["operation"].rstrip("_") for where, column in cuts.items()}
        if lost and cutting and set(cutting.values()) <= COUNTS:
            where, operation = next(iter(cutting.items()))
            yield self._prove(where, operation, lost, "no gradient")

    def _drawn(self, where, row):
        return self.prove(
            "non-differentiable-operation", subject=row["into"], step=0, location=where,
            measured=f"{row['operation']} at {where} draws from tensors that want a gradient and gives them exactly 0; {row['into']} is trained on "
                     "what was drawn",
            expected="mean + std * torch.randn_like(std), which passes the gradient on",
            message=f"What {row['operation']} draws has no slope in what it was drawn from, so nothing that {row['into']} is trained for reaches the "
                    "layers in front of it.",
            remedies=(f"reparameterise: mean + std * torch.randn_like(std) ({where})", "for discrete draws: a relaxation, or the score function"),
            explains=("plateau-high", "gradient-zero"))

    def _prove(self, where, operation, names, what):
        modules = list(dict.fromkeys(module_of(name) for name in names))
        return self.prove(
            "non-differentiable-operation", subject=modules[0], step=0, location=where,
            measured=f"{operation} at {where}; {len(names)} tensors in front of it get {what} at every backward "
                     f"({listed(modules)})",
            expected="a gradient that is not zero",
            message=f"{operation} has no slope, so nothing in front of it ({listed(modules)}) can learn.",
            remedies=(f"put a smooth stand-in or a straight-through estimator in place of {operation} ({where})",),
            explains=("plateau-high", "flat-from-start", "gradient-zero", "parameters-unchanged"))
