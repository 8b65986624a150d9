"""The optimizer holds tensors of another model."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.wiring import listed, moved, parameters, stepping


@dataclass(frozen=True)
class StaleOptimizerParameters(Check):
    """The optimizer steps on tensors that the model in training does not have.

    Sees      identity of the optimizer's tensors, of the live model's, and of those that backward reaches.
    Expects   the tensors that backward reaches are the ones the optimizer holds.
    Means     the model was copied, built again or given a new head after the optimizer was created.
    Not for   parameters trained by a second optimizer, updates by hand, an unused optimizer; a model that is still called, without
              gradients (loss-on-wrong-tensor).
    Source    torch.optim, "Constructing it"; parameters compared by identity.
    """

    lately: float = 0.9  # of the run's steps: an optimizer whose last step was earlier belongs to an earlier stage

    stage = "wiring"
    needs = (Need("optimizer"), Need("parameter"), Need("loss"))
    isolates = "the optimizer holds tensors of the model in training"
    causes = ("stale-optimizer-parameters",)

    def judge(self, evidence, run):
        left_out = [name for name, row in parameters(evidence, run) if row["reached"] and row["requires_grad"]
                    and not row["held"] and not row.get("unregistered") and not moved(evidence, name, row, run)]
        last = {name: column.steps[-1] for name, column in evidence.by_subject("step", run).items()}
        for optimizer, facts in sorted(stepping(evidence, run).items(), key=lambda item: -last.get(item[0], 0)):
            if optimizer in last and last[optimizer] < self.lately * max(last.values()):
                continue  # an earlier stage's: what it held may be gone by now
            if not facts["foreign"] or not left_out or facts.get("foreign_asked") == facts["foreign"]:
                continue
            yield self.prove(
                "stale-optimizer-parameters", subject=optimizer, step=0, location=facts["place"],
                measured=f"{facts['foreign']} of {facts['held']} tensors in {optimizer} belong to no model in use "
                         f"({listed(facts['foreign_names'])}); {len(left_out)} trained tensors are in no optimizer "
                         f"({listed(left_out)})",
                expected="0 foreign tensors; every trained tensor in an optimizer",
                message=f"{optimizer} was created before the model (or part of it) was replaced: it updates the old "
                        f"tensors, and {listed(left_out, 2)} never change.",
                remedies=(f"create the optimizer after the model is complete ({facts['place']})",
                          "or add the new layer with optimizer.add_param_group"),
                explains=("flat-from-start", "parameters-unchanged", "plateau-high"))
