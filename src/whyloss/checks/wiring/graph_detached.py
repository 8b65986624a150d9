"""The path from the loss to some parameters is cut."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.wiring import listed, module_of, optimizers, parameters

COUNTS = {"argmax", "argmin", "argsort", "multinomial", "bernoulli", "long", "int", "bool",
          "gt", "lt", "ge", "le", "eq", "ne", "__gt__", "__lt__", "__ge__", "__le__", "__eq__", "__ne__",
          "logical_and", "logical_or", "logical_not"}


def unreached(evidence, run) -> list[str]:
    """Trainable parameters that an optimizer holds (or, without one, that a model has) and no backward ever reached."""
    any_optimizer = bool(optimizers(evidence, run))
    return [name for name, row in parameters(evidence, run) if row["requires_grad"] and not row["reached"]
            and (row["held"] if any_optimizer else row["in_model"])]


@dataclass(frozen=True)
class GraphDetached(Check):
    """The path from the loss to parameters that the optimizer holds is cut.

    Sees      the leaves that backward reaches, operations whose input wants a gradient and whose output has none,
              values that leave torch (item, tolist, numpy) on the way.
    Expects   every trainable parameter in an optimizer is reached by some backward.
    Means     detach(), .data, no_grad or a re-wrapped tensor cuts the path; all in front keeps its initial values.
    Not for   stop-gradients on purpose (target networks, SimSiam, GANs): there all parameters are reached by some
              backward or held by no optimizer; layers that are never called.
    Source    graph walk from loss.grad_fn: exact.
    """

    backwards: int = 3

    stage = "wiring"
    needs = (Need("parameter"), Need("loss", "run", points=3))
    isolates = "the loss's graph reaches every parameter that should train"
    causes = ("graph-detached",)

    def judge(self, evidence, run):
        lost = unreached(evidence, run)
        uncalled = set(evidence.by_subject("module_never_called", run))
        lost = [name for name in lost if module_of(name) not in uncalled] or lost
        cut = self._cut(evidence, run, {module_of(name) for name in lost})
        if not lost or cut is None or self._stale(evidence, run):
            return
        operation, where, inside = cut
        modules = list(dict.fromkeys(module_of(name) for name in lost))
        yield self.prove(
            "graph-detached", subject=modules[0], step=0, location=where,
            measured=f"{len(lost)} trainable tensors never reached by backward ({listed(modules)}); {operation} "
                     f"at {inside}",
            expected="every trainable tensor reached",
            message=f"{operation} cuts the path from the loss to {listed(modules)}: they get no gradient and "
                    "keep their initial values.",
            remedies=(f"remove {operation} ({where})",
                      "or keep the tensor in torch: torch.stack or torch.cat for torch.tensor"),
            explains=("plateau-high", "flat-from-start", "gradient-none", "parameters-unchanged"))

    def _stale(self, evidence, run) -> bool:
        """The optimizer holds another model: nothing is cut, the tensors are not in the forward pass at all."""
        foreign = any(row["foreign"] and row["stepped"] for row in optimizers(evidence, run).values())
        return foreign and any(row["reached"] and row["requires_grad"] and not row["held"]
                               for _, row in parameters(evidence, run))

    def _cut(self, evidence, run, lost: set[str]) -> tuple[str, str, str] | None:
        """(operation, line to change, line of the operation). A number that leaves torch cuts only the modules it was made by."""
        cuts = [(where, column.first.value) for where, column in evidence.by_subject("cut", run).items()
                if column.first.value["operation"].rstrip("_") not in COUNTS]
        with_grad = [(where, row) for where, row in cuts if row["grad_enabled"]]
        for where, row in with_grad or cuts:
            if not row["grad_enabled"]:
                return "no_grad", row.get("enters") or where, where
            return row["operation"].rstrip("_"), where, where
        if any(evidence.by_subject("cut", run)):
            return None  # a counting operation: non-differentiable-operation says it
        for where, column in evidence.by_subject("left_torch", run).items():
            operation, behind = column.first.value["operation"], column.first.value.get("behind")
            if behind is not None and not lost.intersection(behind) and ("" not in behind or all("." in name for name in lost)):
                continue  # operations outside modules ("") may use bare tensors
            if len(column) >= self.backwards and operation in ("item", "tolist", "numpy", "__array__", "__float__"):
                return operation, where, where
        return None
