"""The model is trained in eval mode."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.wiring import busiest, calls, listed, total


@dataclass(frozen=True)
class EvalModeWhileTraining(Check):
    """Dropout or batch norm run in eval mode in training steps, and so does the whole model.

    Sees      the mode of the root module, and of each dropout and batch norm in the loss's graph, in every traced step.
    Expects   training mode in steps that train.
    Means     eval() of a validation was never undone: dropout is off, batch statistics are neither used nor updated.
    Not for   a frozen batch norm while the root is in training mode, models without dropout and batch norm.
    Source    Module.eval; the rule "BN or dropout in eval AND root in eval" raised no false alarm in 18 healthy loops.
    """

    steps: int = 3
    share: float = 0.5  # of the traced steps

    stage = "wiring"
    needs = (Need("root"), Need("mode_in_loss"))
    isolates = "training runs in training mode"
    causes = ("eval-mode-while-training",)

    def judge(self, evidence, run):
        root = {}
        for column in evidence.by_subject("root", run).values():
            for seen in column:
                if seen.value["parameters"] and seen.value["reached"]:
                    root[seen.step] = root.get(seen.step, False) or seen.value["training"]
        asleep = {name: [o.step for o in column if not o.value and root.get(o.step) is False]
                  for name, column in evidence.by_subject("mode_in_loss", run).items()}
        asleep = {name: steps for name, steps in asleep.items() if len(set(steps)) >= self.steps}
        if not asleep:
            return
        steps = sorted({step for found in asleep.values() for step in found})
        if len(steps) < self.share * len(root):
            return
        switched = calls(evidence, "eval", run)
        where = busiest(switched) or busiest(calls(evidence, "backward", run))
        # put to sleep by an evaluation of this script, or loaded that way: the second may be on purpose
        say = self.prove if switched and total(evidence, "evaluations", run) else self.suspect
        since = f"from step {steps[0]} on" if steps[0] else "from the start"
        yield say(
            "eval-mode-while-training", subject=next(iter(asleep)), step=steps[0], location=where,
            measured=f"{len(steps)} of {len(root)} traced training steps with {listed(list(asleep))} in eval "
                     f"mode, {since}",
            expected="training mode in every training step",
            message=f"The model trains in eval mode {since}: dropout is off and batch norm does not use or "
                    "update batch statistics.",
            remedies=(f"call model.train() before each training epoch; eval() was called at {where}" if switched else
                      "call model.train() before training",),
            explains=("plateau-high", "overfitting", "running-statistics-unchanged"))
