"""backward() is called on a tensor that no graph leads to."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.wiring import listed, module_of, optimizers, total
from whyloss.checks.wiring.graph_detached import COUNTS


@dataclass(frozen=True)
class LossWithoutGraph(Check):
    """The tensor that backward() is called on has no graph: torch raises, or the gradient ends in the loss itself.

    Sees      what the value of the loss was computed from: parameters that are frozen, an operation that lost the
              gradient, a number taken out of torch, or no parameter at all.
    Expects   a path from the loss back to something trainable.
    Means     everything is frozen (parameters-frozen), the path is cut (graph-detached, non-differentiable-operation),
              or the loss is computed from another tensor than the model's output (loss-on-wrong-tensor).
    Not for   a loop that catches the error in some batches and trains in the others.
    Source    torch.autograd.backward: "element 0 of tensors does not require grad and does not have a grad_fn".
    """

    backwards: int = 3  # a tensor that was made a leaf raises nothing: so many of them

    stage = "wiring"
    needs = (Need("gradient_free_loss"),)
    isolates = "the loss has a graph"
    causes = ("parameters-frozen", "graph-detached", "non-differentiable-operation", "loss-on-wrong-tensor")

    def judge(self, evidence, run):
        for where, column in evidence.by_subject("gradient_free_loss", run).items():
            row = column.last.value
            if row["raises"]:
                if not evidence.has("raised", run) and total(evidence, "backward", run):
                    continue
                tells = "backward() raises at the first step" if not total(evidence, "backward", run) else "backward() raises"
            else:
                if len(column) < self.backwards or not row["cut"]:
                    continue
                tells = f"backward() ends in the loss itself, {len(column)} times"
            found = self._named(evidence, run, where, row, tells)
            if found is not None:
                yield found
                return

    def _named(self, evidence, run, where, row, tells):
        cut, modules = row["cut"], list(dict.fromkeys(module_of(name) for name in row["names"]))
        if row["frozen"] and not row["depends"]:
            place = next((facts["place"] for facts in optimizers(evidence, run).values()), None) or where
            return self.prove(
                "parameters-frozen", subject=modules[0] if modules else None, step=0, location=place,
                measured=f"all {row['frozen']} tensors that the loss is computed from have requires_grad=False; {tells}",
                expected="requires_grad=True on what should train",
                message=f"Everything the loss depends on is frozen ({listed(modules)}), so there is nothing to compute a gradient for.",
                remedies=(f"set requires_grad_(True) on {listed(modules)} before the optimizer is created",),
                explains=("raised", "flat-from-start", "parameters-unchanged"))
        if cut is not None and cut["operation"] in COUNTS:
            return self.prove(
                "non-differentiable-operation", subject=modules[0] if modules else row["module"], step=0, location=cut["place"],
                measured=f"{cut['operation']} at {cut['place']} on the only path from the loss to the parameters; {tells}",
                expected="a path with a slope",
                message=f"{cut['operation']} has no slope, so no gradient can be computed for anything in front of it.",
                remedies=(f"put a smooth stand-in in place of {cut['operation']} ({cut['place']})",), explains=("raised", "flat-from-start"))
        if cut is not None:
            place = cut["place"] if cut["grad_enabled"] else row.get("called") or cut.get("enters") or cut["place"]
            return self.prove(
                "graph-detached", subject=modules[0] if modules else row["module"], step=0, location=place,
                measured=f"{cut['operation']} at {cut['place']} on the only path from the loss to the parameters; {tells}",
                expected="a path from the loss to the parameters",
                message=f"{cut['operation']} cuts the path from the loss to the parameters: the loss is a number without history.",
                remedies=(f"remove {cut['operation']} ({cut['place']})", "requires_grad on the loss itself hides the error and does not repair it"),
                explains=("raised", "flat-from-start", "parameters-unchanged"))
        if row["raises"] and row["trainable"] and not row["depends"]:
            return self.prove(
                "loss-on-wrong-tensor", subject=row["module"], step=0, location=row["made"] or where,
                measured=f"the loss made at {row['made'] or '?'} is computed from none of {row['trainable']} trainable tensors; {tells}",
                expected="a loss computed from the model's output",
                message="The loss does not depend on the model's output, so there is nothing to compute a gradient for.",
                remedies=(f"compute the loss from what the model returns ({row['made'] or where})",), explains=("raised",))
        return None
