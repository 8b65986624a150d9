"""Layers that cannot train."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.wiring import learned, listed, module_of, moved, parameters, stepping

TRAINABLE = ("Linear", "Bilinear", "Conv", "LazyLinear", "LazyConv", "Embedding", "RNN", "LSTM", "GRU",
             "MultiheadAttention", "NonDynamicallyQuantizableLinear")


@dataclass(frozen=True)
class ParametersFrozen(Check):
    """Layers have requires_grad=False where training was meant.

    Sees      requires_grad of every parameter, what optimizers hold, whether the rest moves.
    Expects   an optimizer that holds something trainable; frozen layers only in a run that learns.
    Means     proven: all that the optimizer holds is frozen; suspected: part of a model is frozen, and the run does
              not get far.
    Not for   fine-tuning and LoRA on purpose (a note), target networks and teachers, fixed position codes, norm layers.
    Source    PyTorch, autograd mechanics: requires_grad is a fact, the fault is decided by unfreezing a copy.
    """

    satisfied: float = 0.5  # share of the way to the floor from which freezing is taken as meant
    fine_tuned: float = 0.3  # the same, where everything up to the trained head is frozen: the usual fine-tune

    stage = "wiring"
    needs = (Need("parameter"), Need("loss"))
    isolates = "what should train can train"
    causes = ("parameters-frozen",)

    def judge(self, evidence, run):
        rows = parameters(evidence, run)
        for optimizer, facts in stepping(evidence, run).items():
            # frozen only later, after it did its work
            used = any(row["with_gradient"] for row in evidence.series("step", optimizer, run).values)
            if facts["held"] and facts["frozen_held"] == facts["held"] and not used:
                names = [name for name, row in rows if row["held"] and not row["requires_grad"]]
                yield self._say(self.prove, names, _switched_off(rows, names) or facts["place"],
                                f"all {facts['held']} tensors that {optimizer} holds have requires_grad=False")
                return
        frozen = [name for name, row in rows if not row["requires_grad"] and not row["reached"] and row["in_model"]
                  and row["kind"].startswith(TRAINABLE)]
        mixed = any(0 < o.value["trainable"] < o.value["parameters"]
                    for column in evidence.by_subject("root", run).values() for o in column)
        if frozen and mixed and self._rest_trains(evidence, run, rows):
            share = self.fine_tuned if self._is_a_body(rows, frozen) else self.satisfied
            say = self.note if learned(evidence, run, share) else self.suspect
            place = _switched_off(rows, frozen) or next((facts["place"] for facts in stepping(evidence, run).values()), None)
            yield self._say(say, frozen, place, f"{len(frozen)} of {len(rows)} tensors have requires_grad=False")

    def _is_a_body(self, rows, frozen) -> bool:
        """Whether the frozen layers all come before the first layer that trains."""
        order = [name for name, row in rows if row["in_model"] and row["kind"].startswith(TRAINABLE)]
        first = next((at for at, name in enumerate(order) if name not in frozen), len(order))
        return all(order.index(name) < first for name in frozen)

    def _rest_trains(self, evidence, run, rows) -> bool:
        """Something else moves: if nothing does, freezing is not what holds the run back."""
        return any(row["reached"] and row["requires_grad"] and moved(evidence, name, row, run) for name, row in rows)

    def _say(self, say, names, place, measured):
        modules = list(dict.fromkeys(module_of(name) for name in names))
        return say(
            "parameters-frozen", subject=modules[0] if modules else None, step=0, location=place,
            measured=f"{measured} ({listed(modules)})", expected="requires_grad=True on what should train",
            message=f"requires_grad is False on {listed(modules)}: no gradient arrives there, and the values "
                    "stay as they are.",
            remedies=(f"set requires_grad_(True) on {listed(modules)} before the optimizer is created"
                      + (f"; see {place}" if place else ""),),
            explains=("plateau-high", "flat-from-start", "parameters-unchanged"))


def _switched_off(rows, names) -> str | None:
    """The line that switched requires_grad off for the first of these parameters, where it was seen."""
    return next((row["frozen_at"] for name, row in rows if name in names and row.get("frozen_at")), None)
