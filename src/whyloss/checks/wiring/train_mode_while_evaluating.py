"""Dropout or batch norm active in evaluation."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.wiring import learned, listed


@dataclass(frozen=True)
class TrainModeWhileEvaluating(Check):
    """Dropout or batch statistics are active while the model is evaluated.

    Sees      the mode of every dropout and batch norm in calls without gradients that are scored.
    Expects   eval mode.
    Means     dropout makes the score random and too low; batch norm mixes samples and learns from validation data.
    Not for   gradient-free calls that are part of training (teachers, generated samples), Monte Carlo dropout.
    Source    Module.eval; no_grad does not switch the mode.
    """

    stage = "wiring"
    needs = (Need("evaluated_in_train_mode"),)
    isolates = "evaluation runs in eval mode"
    causes = ("train-mode-while-evaluating",)

    def judge(self, evidence, run):
        kinds = {name: column.last.value["kind"] for name, column in evidence.by_subject("layer", run).items()}
        scored = {o.step for quantity in ("val_loss", "val_accuracy") for o in evidence.series(quantity, run=run)}
        for where, column in evidence.by_subject("evaluated_in_train_mode", run).items():
            awake = [o for o in column if o.value and o.step in scored]
            if not awake or not column.last.value:
                continue
            names = awake[-1].value
            dropped = [name for name in names if "Dropout" in kinds.get(name, "")]
            say = self.suspect if dropped and learned(evidence, run) else self.note
            yield say(
                "train-mode-while-evaluating", subject=(dropped or names)[0], step=awake[0].step, location=where,
                measured=f"{len(awake)} of {len(column)} evaluations with {listed(names)} in training mode",
                expected="eval mode",
                message=f"{listed(names)} are in training mode while the model is evaluated, so the score is "
                        "not that of the model.",
                remedies=(f"call model.eval() before the evaluation at {where}, and model.train() after it",),
                explains=("validation-worse", "validation-noisy"))
            return
