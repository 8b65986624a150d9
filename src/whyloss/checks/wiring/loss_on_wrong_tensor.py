"""The loss does not depend on the output that is meant."""

from dataclasses import dataclass
from statistics import median

from whyloss.check import Check, Need
from whyloss.checks.wiring import listed, module_of, moved, parameters, stepping
from whyloss.checks.wiring.graph_detached import unreached


@dataclass(frozen=True)
class LossOnWrongTensor(Check):
    """What backward differentiates does not depend on the model's output, or not on the head that is scored.

    Sees      whether the loss depends on each model's output; losses computed from a head that no backward reaches.
    Expects   the output that is scored is the one that is differentiated.
    Means     backward runs on an auxiliary loss, an old output or the target.
    Not for   models used by another loss (GAN), outputs computed without gradients, auxiliary heads that are never
              scored.
    Source    graph walk: the output is not reachable from the loss.
    """

    backwards: int = 3
    behind: float = 0.3  # of accuracy: evaluation behind the output that is trained, where another one is dropped

    stage = "wiring"
    needs = (Need("root", points=3), Need("parameter"))
    isolates = "the loss depends on the output"
    causes = ("loss-on-wrong-tensor",)

    def judge(self, evidence, run):
        if any(column.last.value["cut"] for column in evidence.by_subject("gradient_free_loss", run).values()):
            return  # the loss was computed from the output, and its graph lost: loss-without-graph says where
        yield from self._scored_head(evidence, run)
        yield from self._whole_output(evidence, run)
        yield from self._dropped_output(evidence, run)
        yield from self._other_model(evidence, run)

    def _scored_head(self, evidence, run):
        """A loss of the head is computed, and another one is differentiated."""
        lost = {module_of(name) for name in unreached(evidence, run)}
        for where, column in evidence.by_subject("loss_call", run).items():
            idle = [o for o in column if not o.value["counts"] and o.value["producer_module"] in lost]
            if len(idle) >= self.backwards and len(idle) == sum(o.value["producer_module"] in lost for o in column):
                head = idle[0].value["producer_module"]
                yield self.prove(
                    "loss-on-wrong-tensor", subject=head, step=0, location=where,
                    measured=f"{idle[0].value['function']} of {head}'s output computed {len(idle)} times and never "
                             "differentiated; no backward reaches its weights",
                    expected="the loss of the output that is scored is differentiated",
                    message=f"backward() runs on another loss than that of {head}: what is scored gets no gradient.",
                    remedies=(f"call backward() on the loss computed at {where}, or on the sum of all losses",),
                    explains=("flat-from-start", "gradient-none", "metric-does-not-follow-loss"))
                return

    def _whole_output(self, evidence, run):
        models = {}
        for where, column in evidence.by_subject("root", run).items():
            for seen in column:
                if seen.value["parameters"] and seen.value["output_wants_grad"]:
                    models.setdefault(seen.value["module"], []).append((where, seen))
        for name, seen in models.items():
            if len(seen) >= self.backwards and not any(o.value["outputs_used"] or o.value["reached"] for _, o in seen):
                where = seen[0][0]
                yield self.prove(
                    "loss-on-wrong-tensor", subject=name, step=0, location=where,
                    measured=f"{name} called {len(seen)} times, its output is in the graph of no loss",
                    expected="a loss computed from the output",
                    message=f"The loss does not depend on the output of {name}, so {name} gets no gradient.",
                    remedies=(f"compute the loss from what {name} returns ({where})",),
                    explains=("flat-from-start", "gradient-none"))

    def _dropped_output(self, evidence, run):
        """One of the outputs is dropped in every step, tensors that the optimizer holds are never reached, and evaluation goes badly."""
        uncalled = set(evidence.by_subject("module_never_called", run))
        lost = [name for name in unreached(evidence, run) if module_of(name) not in uncalled]
        right, held_out = (evidence.series(name, run=run).finite() for name in ("accuracy", "val_accuracy"))
        if not lost or len(right) < self.backwards or not held_out:
            return
        behind = median(right.values[-len(right) // 5 - 1:]) - held_out.last.value
        for where, column in evidence.by_subject("root", run).items():
            trained = [o.value for o in column if o.value["training"] and o.value["output_wants_grad"] and o.value["reached"]]
            if behind < self.behind or len(trained) < self.backwards or not all(row.get("idle_outputs") for row in trained):
                continue
            yield self.prove(
                "loss-on-wrong-tensor", subject=module_of(lost[-1]), step=0, location=next(iter(evidence.by_subject("loss_made", run)), where),
                measured=f"{trained[0]['module']} returns an output that nothing is computed from, in all {len(trained)} traced steps; "
                         f"{len(lost)} tensors that the optimizer holds are never reached ({listed(lost)}); evaluation gets "
                         f"{held_out.last.value:.3f} right, the output in the loss {held_out.last.value + behind:.3f}",
                expected="the loss of the output that is scored is differentiated",
                message=f"The loss is computed from another output than the one that is scored: {listed(lost, 2)} get no gradient.",
                remedies=(f"compute the loss from the output that is evaluated, too ({where})",),
                explains=("metric-does-not-follow-loss", "gradient-none"))
            return

    def _other_model(self, evidence, run):
        """The loss is computed by one model (a target network), the optimizer holds another that is only asked without gradients."""
        left_out = [name for name, row in parameters(evidence, run) if row["reached"] and row["requires_grad"]
                    and not row["held"] and not moved(evidence, name, row, run)]
        calls = [(where, column) for where, column in evidence.by_subject("root", run).items()
                 if sum(bool(o.value["reached"]) for o in column) >= self.backwards]
        for optimizer, facts in stepping(evidence, run).items():
            if not facts.get("foreign_asked") or facts["foreign_asked"] != facts["held"] or not left_out or not calls:
                continue
            where, column = calls[0]
            yield self.prove(
                "loss-on-wrong-tensor", subject=column.first.value["module"], step=0, location=where,
                measured=f"the loss reaches {len(left_out)} tensors that no optimizer holds ({listed(left_out)}); the {facts['held']} that "
                         f"{optimizer} holds ({listed(facts['foreign_names'])}) are only used without gradients",
                expected="the loss is computed by the model that the optimizer steps",
                message=f"The loss is computed with another model than the one {optimizer} trains, so no gradient ever reaches the latter.",
                remedies=(f"call the model that {optimizer} holds here ({where})",),
                explains=("flat-from-start", "gradient-none", "parameters-unchanged"))
            return
