"""Trainable parameters are in no optimizer."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.wiring import learned, listed, module_of, moved, parameters, stepping, total


@dataclass(frozen=True)
class ParametersNotInOptimizer(Check):
    """Parameters that backward reaches are in no optimizer, at the end of the run.

    Sees      identity of the optimizers' tensors, the tensors that backward reaches, and whether values changed.
    Expects   every trainable tensor in some optimizer.
    Means     a head or second module was not passed on; proven where nothing that is held can be trained, or where a whole term of
              the loss reaches only tensors that no optimizer holds: a fixed network on purpose still passes a gradient on.
              Fresh layers that run between trained ones are tried for longer, and a smaller gain tells.
    Not for   frozen parameters, updates by hand, an optimizer that comes later (GAN), inputs being optimised.
    Source    Optimizer.add_param_group; parameters compared by identity at the end of the run.
    """

    satisfied: float = 0.8  # share of the way to the floor; a run that got there leaves the rest out on purpose

    stage = "wiring"
    needs = (Need("optimizer"), Need("parameter"), Need("loss"))
    isolates = "every trainable parameter is in an optimizer"
    causes = ("parameters-not-in-optimizer",)

    def judge(self, evidence, run):
        rows = parameters(evidence, run)
        active = stepping(evidence, run)
        left_out = [name for name, row in rows if row["reached"] and row["requires_grad"] and not row["held"]
                    and row["in_model"] and not row.get("unregistered") and not moved(evidence, name, row, run)]
        if not left_out or not active or any(facts["foreign"] for facts in active.values()):
            return
        usable = [name for name, row in rows if row["held"] and row["reached"] and row["requires_grad"]]
        idle = self._idle_term(evidence, run, set(left_out))
        say = self.prove if not usable else self.note if learned(evidence, run, self.satisfied) else self.prove if idle else self.suspect
        if idle:
            where, left_out = idle
        place = next(iter(active.values()))["place"]
        between = say == self.suspect and not idle and self._between(evidence, run, left_out, usable)
        yield say(
            "parameters-not-in-optimizer", subject=module_of(left_out[0]), step=0, location=place, asks={"between": True} if between else {},
            measured=f"{len(left_out)} trainable tensors get gradients and are in no optimizer ({listed(left_out)}); "
                     f"{len(usable)} are", expected="0 trainable tensors outside",
            message=f"{listed(left_out, 2)} get gradients, but no optimizer holds them: they keep their initial values."
                    + (f" The loss's term at {where} can train nothing else." if idle else ""),
            remedies=(f"pass these parameters to the optimizer ({place})",
                      "or set requires_grad=False on them if they should stay fixed"),
            explains=("flat-from-start", "plateau-high", "parameters-unchanged"))

    def _between(self, evidence, run, left_out, usable) -> bool:
        """Whether layers that nobody loaded run both behind and before layers that are trained: no backbone, no reservoir, no target.

        Gains of a norm that are not all alike at the start were trained before, whoever put them there.
        """
        order = list(evidence.by_subject("layer", run))
        trained = any("Norm" in row["kind"] and len(row["shape"]) == 1 and row.get("initial", {}).get("std", 0.0) > 0
                      for _, row in parameters(evidence, run))
        if trained or evidence.has("state_loaded", run=run):
            return False
        outside, held = ({order.index(m) for m in map(module_of, names) if m in order} for names in (left_out, usable))
        outside -= held
        return any(min(held) < at < max(held) for at in outside) if held else False

    def _idle_term(self, evidence, run, left_out):
        """(place, tensors) of a term that, at every step that saw it, could train only what was left out."""
        backwards = total(evidence, "backward", run)
        for where, column in evidence.by_subject("term_outside_optimizers", run).items():
            names = sorted({name for row in column.values for name in row["names"]})
            if names and left_out.issuperset(names) and (len(column) > 1 or backwards <= 2):
                return where, names
        return None
