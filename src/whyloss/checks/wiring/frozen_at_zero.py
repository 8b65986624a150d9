"""Weights that are all zero and frozen: nothing passes them."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.wiring import listed, module_of, parameters, stepping


@dataclass(frozen=True)
class FrozenAtZero(Check):
    """A weight matrix starts at zero, has requires_grad=False, and multiplies what other parameters compute.

    Sees      frozen matrices of zeros that are a factor of a product on the way to the loss, at the start and at the end; the gradients
              of the parameters behind them.
    Expects   a matrix that starts at zero to train: LoRA's second factor, the last layer of a residual branch.
    Means     what comes out of the product is zero and stays zero: the branch is not there. Proven where a trainable parameter behind it
              has a gradient of exactly 0 in every step looked at; else unfreezing it on a copy decides.
    Not for   zero factors that train, frozen factors that are not zero, frozen biases, states and position codes, branches that are not run.
    Source    Hu et al. 2021 (LoRA): B starts at zero and is trained; own measurements.
    """

    steps: int = 3  # steps with a gradient of exactly 0

    stage = "wiring"
    needs = (Need("parameter"), Need("frozen_factor"))
    isolates = "no branch is closed by a frozen zero"
    causes = ("parameters-frozen",)

    def judge(self, evidence, run):
        rows = dict(parameters(evidence, run))
        closed = {name: column.last.value for name, column in evidence.by_subject("frozen_factor", run).items() if _still_zero(rows.get(name))}
        if not closed or not any(row["requires_grad"] and row["reached"] for row in rows.values()):
            return
        behind = [name for name in dict.fromkeys(n for row in closed.values() for n in row["behind"]) if name in rows]
        near = [name for name in rows if name not in behind and any(_siblings(name, other) for other in closed)]
        stuck = [name for name in behind + near if rows[name]["requires_grad"] and self._no_gradient(evidence.series("grad_state", name, run).values)]
        names = list(closed)
        modules = list(dict.fromkeys(map(module_of, names)))
        place = next((rows[name].get("frozen_at") for name in names if rows[name].get("frozen_at")), None) or \
            next((facts["place"] for facts in stepping(evidence, run).values()), None)
        shut = [name for name in behind if not rows[name]["requires_grad"] and any(_siblings(name, other) for other in names)]
        only = tuple(dict.fromkeys([*names, *shut]))
        effect = f"the gradient of {listed(stuck)} is exactly 0 in every step" if stuck else "what it multiplies adds nothing to the output"
        yield (self.prove if stuck else self.suspect)(
            "parameters-frozen", subject=modules[0], step=0, location=place, asks={"only": only} if stuck else {"only": only, "unseen": True},
            measured=f"{len(names)} matrices are all zero at the start and at the end, with requires_grad=False ({listed(names)}); {effect}",
            expected="a matrix that starts at zero has requires_grad=True",
            message=f"{names[0]} is zero and frozen, so it stays zero: " + ("nothing that trains in front of it can learn."
                                                                            if stuck else "its branch is never used."),
            remedies=(f"set requires_grad_(True) on {listed(names)}, before the optimizer is created" + (f"; see {place}" if place else ""),
                      "start it at random values, if it is meant to stay frozen"),
            explains=("plateau-high", "flat-from-start", "parameters-unchanged", "zero-gradients"))

    def _no_gradient(self, states) -> bool:
        return len(states) >= self.steps and set(states) == {"zero"}


def _still_zero(row: dict | None) -> bool:
    return row is not None and not row["requires_grad"] and (row.get("initial") or {}).get("zero", False) and not row.get("changed", True)


def _siblings(name: str, other: str) -> bool:
    """Whether two parameters belong to one module, or to two modules of one: lora_A.weight and lora_B.weight of a layer."""
    one, two = name.rsplit(".", 1), other.rsplit(".", 1)
    return len(one) == len(two) == 2 and (one[0] == two[0] or one[0].count(".") == two[0].count(".") > 0
                                          and one[0].rsplit(".", 1)[0] == two[0].rsplit(".", 1)[0])
