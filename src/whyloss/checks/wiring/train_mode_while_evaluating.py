"""Dropout or batch norm active in evaluation."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.wiring import learned, listed


@dataclass(frozen=True)
class TrainModeWhileEvaluating(Check):
    """Dropout or batch statistics are active while the model is scored.

    Sees      each model call whose output is compared with labels and never differentiated: the mode of the root module, the dropout
              (modules and functions) and the batch norm that were active in it.
    Expects   eval mode.
    Means     dropout makes the score random and too low; batch norm mixes samples and learns from validation data.
    Not for   calls whose output is not scored (teachers, generated samples), the same rows evaluated several times (Monte Carlo dropout),
              parts switched on again in a model that is in eval mode, the batch just trained on, a training that does not learn.
    Source    Module.eval; no_grad does not switch the mode. Follows from the calls, no statistics.
    """

    share: float = 0.5    # of the scored calls at a line
    repeated: float = 0.5   # share of repeated evaluations from which averaging is meant

    stage = "wiring"
    needs = (Need("scored_call"),)
    isolates = "evaluation runs in eval mode"
    causes = ("train-mode-while-evaluating",)

    def judge(self, evidence, run):
        for where, column in evidence.by_subject("scored_call", run).items():
            tally = column.last.value
            awake, calls = tally["awake"], tally["calls"] - tally["asleep"]
            if not awake or calls < self.share * tally["calls"] or tally["repeated"] > self.repeated * calls:
                continue
            names = sorted(awake, key=lambda name: awake[name] != "dropout")
            line = next((name for name in names if ":" in name), None)   # a function called with a fixed mode
            yield self._say(tally, names, calls, evidence, run)(
                "train-mode-while-evaluating", subject="dropout" if line else names[0], step=tally["first"],
                location=line if line and tally["root_eval"] else where,
                measured=f"{calls} of {tally['calls']} scored model calls with {listed(names)} in training mode",
                expected="eval mode",
                message=f"{listed(names)} {'are' if len(names) > 1 else 'is'} active ({awake[names[0]]}) while the model is evaluated, so the "
                        "score is not that of the trained model.",
                remedies=self._remedies(where, tally, names),
                explains=("validation-worse", "validation-noisy"))
            return

    def _say(self, tally, names, calls, evidence, run):
        """A proof where nobody asked for this mode."""
        functions = [name for name in names if ":" in name or name == ""]
        chosen = tally["root_eval"] > 0.5 * calls and not functions   # eval() was called, and these parts switched on again
        troubled = evidence.fact("symptoms", run=run) and not learned(evidence, run)
        return self.note if chosen or troubled or tally["monitor"] > 0.5 * calls else self.prove

    @staticmethod
    def _remedies(where, tally, names):
        if tally["root_eval"] > 0.5 * (tally["calls"] - tally["asleep"]):
            return (f"give the function training=self.training ({names[0]})",)
        return (f"call model.eval() before the evaluation at {where}, and model.train() after it",)
