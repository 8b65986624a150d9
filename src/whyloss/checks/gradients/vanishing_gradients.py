"""Check: gradients that shrink by decades on their way to the first layers, or through time."""

import math
import re
from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.initialisation.weights_too_large import PLAIN, scale_ratios


def matrices(evidence, run) -> list[tuple[str, float]]:
    """(name, gradient norm at the first traced backward) of the weight matrices, in the order of the model."""
    rows = []
    for name, column in evidence.by_subject("parameter", run).items():
        fact, norms = column.values[-1], evidence.series("grad_norm", name, run)
        if len(fact["shape"]) >= 2 and fact["kind"].startswith(PLAIN) and norms and math.isfinite(norms.values[0]):
            rows.append((name, norms.values[0]))
    return rows


def recurrences(evidence, run) -> list[tuple[str, str, float, int]]:
    """(weight, kind, root mean square singular value of the hidden matrix at the start, time steps) of each recurrent layer."""
    batch = next((c.values[0]["shape"][0] for c in evidence.by_subject("loss_call", run).values() if c.values[0]["shape"]), None)
    layers = {name: column.values[-1] for name, column in evidence.by_subject("layer", run).items()}
    found = []
    for weight, column in evidence.by_subject("parameter", run).items():
        fact, (owner, _, last) = column.values[-1], weight.rpartition(".")
        same = [name for name, layer in layers.items() if layer["kind"] == fact["kind"]]
        if fact["kind"] not in ("RNN", "LSTM", "GRU") or last != "weight_hh_l0" or not same:
            continue
        layer = layers[next((name for name in same if owner.endswith(name)), same[0])]
        size = [int(n) for n in re.findall(r"\d+", layer["in"].split(")")[0])]
        if len(size) == 3:
            norm = (fact.get("initial") or {}).get("norm", 0.0)
            found.append((weight, fact["kind"], norm / math.sqrt(fact["shape"][0]), size[1] if size[0] == batch else size[0]))
    for weight, column in evidence.by_subject("recurrence", run).items():  # cells written by hand
        row, fact = column.values[0], evidence.fact("parameter", weight, run) or {}
        if (fact.get("initial") or {}).get("norm"):  # a loop without modules is seen from its second step
            row = row | {"size": fact["initial"]["norm"] / math.sqrt(fact["shape"][0])}
        found.append((weight, "gated cell" if row["gated"] else "RNN", row["size"], row["steps"]))
    return found


def by_hand(evidence, run, weight: str) -> dict:
    """Place, and what the experiment has to know, of a recurrent matrix in a cell written by hand; nothing for torch's own layers."""
    rows = evidence.series("recurrence", weight, run)
    return {"location": rows.first.value.get("place"), "asks": {"recurrent": weight}} if rows else {}


@dataclass(frozen=True)
class VanishingGradients(Check):
    """The gradient, or the signal that should carry it, shrinks by decades over the depth or through time.

    Sees      gradient norm of each weight matrix at the first traced step, spread over samples of each layer's output at step 0,
              the size of recurrent matrices against the number of time steps.
    Expects   less than four decades between the first and the last layer.
    Means     each layer (or time step) multiplies by a factor below 1; the first layers, or the first inputs, do not count.
    Not for   trainings that learn: Adam is scale-free and trains over four lost decades; tiny starting weights, a cause of their own.
    Source    Hochreiter 1991; own measurements: decades over the depth, not a slope; the experiment swaps activation and initialisation.
    """

    decades: float = 4.0
    depth: int = 4
    long: int = 30       # time steps

    stage = "gradients"
    needs = (Need("parameter"), Need("grad_norm"))
    isolates = "the gradient arrives at the first layers at a usable size"
    causes = ("vanishing-gradients",)

    def judge(self, evidence, run):
        if (evidence.fact("learned", run=run) or {}).get("learned"):
            return
        ratios = scale_ratios(evidence, run)
        rows = [(name, norm) for name, norm in matrices(evidence, run) if norm > 0]
        if len(rows) >= self.depth and sum(r < 0.15 for r in ratios.values()) < 0.5 * len(ratios):
            yield from self._depth(evidence, run, rows)
        for weight, kind, size, steps in recurrences(evidence, run):
            gated = kind != "RNN"
            if steps >= self.long * (2 if gated else 1) and (gated or steps * math.log10(max(size, 1e-9)) < -self.decades):
                told = "" if gated else f"; the recurrent matrix multiplies by about {size:.2g} a step: {size:.2g}^{steps} = {size ** steps:.0e}"
                yield self.suspect("vanishing-gradients", subject=weight, step=0, explains=("flat-from-start", "flat-at-baseline"),
                                   **by_hand(evidence, run, weight),
                                   measured=f"{kind} over {steps} time steps{told}",
                                   expected="a factor near 1 a step, where the task needs a long memory",
                                   message=f"What {weight} saw at the first of {steps} time steps has next to no influence on the loss at the last.")

    def _depth(self, evidence, run, rows):
        lost = math.log10(rows[-1][1] / rows[0][1])
        signal = {s: c.at(0) for s, c in evidence.by_subject("signal", run).items() if c.at(0) is not None}
        values = list(signal.values())
        faded = math.log10(values[0] / max(values[-1], 1e-38)) if len(values) >= self.depth and values[0] > 0 else 0.0
        if max(lost, faded) < self.decades:
            return
        squash = [s for s in evidence.by_subject("saturated_share", run)]
        place = next((evidence.fact("activation_place", s, run) for s in squash), None)
        because = " Each sigmoid or tanh multiplies it by a factor below 1." if squash else ""
        yield self.suspect("vanishing-gradients", subject=rows[0][0], step=0, location=place, explains=("flat-from-start", "flat-at-baseline"),
                           measured=f"gradient {rows[-1][1]:.2g} at {rows[-1][0]}, {rows[0][1]:.2g} at {rows[0][0]}; signal falls by {faded:.1f} "
                                    f"decades",
                           expected=f"less than {self.decades:g} decades between the first and the last layer",
                           message=f"Over {len(rows)} layers the gradient loses {lost:.1f} decades on its way to {rows[0][0]}.{because}")
