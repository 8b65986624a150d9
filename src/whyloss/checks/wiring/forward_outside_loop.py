"""The prediction is computed once."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.wiring import moved, parameters


@dataclass(frozen=True)
class ForwardOutsideLoop(Check):
    """One forward pass serves every backward.

    Sees      forward calls of the model, backwards with retain_graph, the loss value, and whether weights moved.
    Expects   a forward pass for each backward.
    Means     the prediction was computed before the loop: the loss stays that of the first weights.
    Not for   two losses of one forward pass, several backwards before a step, a run whose weights do not move.
    Source    torch.autograd.backward: retain_graph is hardly ever needed.
    """

    backwards: int = 4

    stage = "wiring"
    needs = (Need("backward", points=4), Need("loss", "run", points=4), Need("parameter"))
    isolates = "each loss is that of the present weights"
    causes = ("forward-outside-loop",)

    def judge(self, evidence, run):
        if not any(moved(evidence, name, row, run) for name, row in parameters(evidence, run) if row["reached"]):
            return
        forwards = sorted({o.step for c in evidence.by_subject("root", run).values() for o in c
                           if o.value["parameters"]})
        for where, column in evidence.by_subject("backward", run).items():
            if len(column) < self.backwards or len(set(column.steps)) < self.backwards:
                continue  # several backwards of one step
            if not all(row["retain_graph"] for row in column.values[:-1]):
                continue
            losses = evidence.series("loss", where, run).values
            same = len(set(losses)) == 1
            if same or len(forwards) == 1 and forwards[0] == column.steps[0]:
                yield self.prove(
                    "forward-outside-loop", step=column.steps[0], location=where,
                    measured=f"{len(column)} backward passes through one graph, "
                             + (f"loss {losses[0]:.6g} in each" if same else "1 forward pass"),
                    expected="one forward pass for each backward",
                    message="The prediction is computed once and its graph used again in every step, so the "
                            "loss does not "
                            "see the new weights.",
                    remedies=(f"call the model inside the loop, and drop retain_graph=True ({where})",),
                    explains=("flat-from-start",))
