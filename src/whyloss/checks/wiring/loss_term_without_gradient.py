"""One of several loss terms contributes nothing to the gradient."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.wiring import busiest, calls, listed, module_of, optimizers
from whyloss.checks.wiring.graph_detached import unreached


@dataclass(frozen=True)
class LossTermWithoutGradient(Check):
    """A term of the loss has no path to any parameter, or is computed and left out of what is differentiated.

    Sees      the terms that the differentiated loss is a sum of: value, graph, and whether the value depends on trained
              parameters; scalars with a graph beside it whose parameters no backward ever reaches.
    Expects   each term that depends on trained parameters carries a gradient to them.
    Means     the term was detached, computed under no_grad, from argmax or from plain numbers; or the sum that is shown
              is not the tensor that is differentiated.
    Not for   constants, terms of frozen or foreign models (a discriminator in the generator's step), a number put in
              place of the loss with (metric - loss).detach(), weights that are computed without gradient.
    Source    the operations of the step and the graph from loss.grad_fn: exact.
    """

    steps: int = 3     # so many steps, and
    share: float = 0.8  # of the steps in which the term was seen, with a value that is neither 0 nor always the same

    stage = "wiring"
    needs = (Need("parameter"), Need("loss", "run", points=3))
    isolates = "each loss term reaches the parameters that it depends on"
    causes = ("loss-term-without-gradient",)

    def judge(self, evidence, run):
        for where, column in evidence.by_subject("gradless_term", run).items():
            if self._acts(evidence, run, column):
                cut = column.first.value["cut"]
                yield self._prove(where, column, cut["operation"], cut["place"], cut.get("remedy"))
                return
        for where, column in evidence.by_subject("number_term", run).items():
            for place in dict.fromkeys(row["at"] for row in column.values):
                if self._proportional(column, place):
                    row = next(row for row in column.values if row["at"] == place)
                    yield self._prove(where, column, row["operation"], place)
                    return
        yield from self._left_out(evidence, run)

    def _acts(self, evidence, run, column) -> bool:
        """Enough steps, varying values, and the parameters it depends on are stepped with this gradient."""
        values = [row["value"] for row in column.values]
        if len(values) < self.steps or sum(v != 0 for v in values) < self.share * len(values) / 2 or len(set(values)) < 2:
            return False
        stepping = {name: set(evidence.series("step", name, run).steps) for row in column.values for name in row["optimizers"]}
        if not stepping:
            return True
        return any(o.step in stepping[name] for o in column for name in o.value["optimizers"])

    def _proportional(self, column, place) -> bool:
        """Whether the added number is a fixed multiple of the number that left torch there."""
        pairs = [(row["value"], row["left"]) for row in column.values if row["at"] == place and row["left"]]
        if len(pairs) < max(self.steps, 5) or len({left for _, left in pairs}) < 4:
            return False
        ratios = [value / left for value, left in pairs]
        return max(ratios) - min(ratios) <= 1e-4 * max(abs(ratios[0]), 1e-12)

    def _prove(self, where, column, operation, place, remedy=None):
        values = [row["value"] for row in column.values]
        return self.prove(
            "loss-term-without-gradient", subject=column.first.value.get("module") or f"loss term at {where}", step=column.steps[0],
            location=place or where,
            measured=f"a term of the loss, made at {where}, went from {values[0]:.4g} to {values[-1]:.4g}; its value depends on trained parameters, "
                     f"its gradient is exactly 0 in each of {len(values)} steps looked at ({operation} at {place})",
            expected="a path from the term to the parameters",
            message=f"The loss term made at {where} has no gradient ({operation} at {place}): it is shown, and for any weight it changes nothing.",
            remedies=(remedy or f"compute the term without {operation} ({place}): keep it a tensor with history until it is added",
                      "leave it out of the sum if it is only shown"),
            explains=("term-does-not-fall", "plateau-high"))

    def _left_out(self, evidence, run):
        """The heads of several losses get no gradient, because only one loss is differentiated."""
        lost = set(unreached(evidence, run))
        found = [(where, column) for where, column in evidence.by_subject("scalar_left_out", run).items()
                 if len(column) >= self.steps and all(set(row["names"]) <= lost for row in column.values)]
        whole = [(where, column) for where, column in found if column.first.value["whole"]]
        if not optimizers(evidence, run) or not whole and len(found) < 2:
            return  # a single loss beside the differentiated one: loss-on-wrong-tensor
        where, column = (whole or found)[0]
        names = list(dict.fromkeys(name for _, c in found for name in c.first.value["names"]))
        modules = list(dict.fromkeys(module_of(name) for name in names))
        backward = busiest(calls(evidence, "backward", run))
        what = f"the sum of {column.first.value['terms']} terms made at {where}" if whole else \
            f"{len(found)} losses ({listed([w for w, _ in found])})"
        yield self.prove(
            "loss-term-without-gradient", subject=modules[0], step=column.steps[0], location=where,
            measured=f"{what} is computed and not what backward() is called on at {backward}; {len(names)} trained tensors are "
                     f"reached by no backward ({listed(modules)})",
            expected="all losses that are shown are in the sum that is differentiated",
            message=f"Only a part of the loss is differentiated: {listed(modules)} get no gradient, although their losses are computed.",
            remedies=(f"call backward() on the sum of all losses ({where})",), explains=("flat-from-start", "gradient-none"))
