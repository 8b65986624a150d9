"""Check: units of a layer that start equal and stay equal."""

from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class SymmetricUnits(Check):
    """The units of a layer start with equal weights.

    Sees      relative spread of the rows of each weight matrix, |W - mean row| / |W|, before step 0 and at the end; dropout layers.
    Expects   rows that differ: about 1 for random weights.
    Means     equal units get equal gradients, so a layer of any width works like one unit.
    Not for   norm gains, biases, matrices of one row, zero matrices that break their symmetry by themselves, frozen weights.
    Source    Goodfellow et al. 2016, section 8.4; tolerance on the weights, since batch norm breaks bit equality: own measurements.
    """

    spread: float = 1e-5   # round-off

    stage = "initialisation"
    needs = (Need("parameter"),)
    isolates = "units of a layer differ"
    causes = ("symmetric-initialisation",)

    def judge(self, evidence, run):
        facts = {name: column.values[-1] for name, column in evidence.by_subject("parameter", run).items()}
        even = [name for name, fact in facts.items() if self._even(fact)]
        still = [name for name in even if facts[name].get("final_row_spread", 1.0) < self.spread and facts[name]["changed"]]
        drops = any(str(c.values[-1]["kind"]).startswith("Dropout") for c in evidence.by_subject("layer", run).values())
        constant = [name for name in even if not facts[name]["initial"]["zero"]]
        if still:
            fact = facts[still[0]]
            yield self.prove("symmetric-initialisation", **self._said(still, "still equal at the end of the run"),
                             message=f"All {fact['shape'][0]} units of {still[0]} are the same, before and after training: the layer works like one "
                                     f"unit.")
        elif constant and not drops and not (evidence.fact("learned", run=run) or {}).get("learned"):
            fact = facts[constant[0]]
            yield self.suspect("symmetric-initialisation", **self._said(constant, f"{fact.get('final_row_spread', 0):.2g} at the end"),
                               message=f"All {fact['shape'][0]} units of {constant[0]} start equal; only small differences elsewhere pull them "
                                       f"apart, slowly.")

    def _said(self, names, end):
        return {"subject": names[0], "step": 0, "explains": ("plateau-high", "flat-from-start", "flat-at-baseline"),
                "measured": f"rows of {', '.join(names[:4])} differ by less than {self.spread:g} of their size at step 0; {end}",
                "expected": "rows that differ by about their own size",
                "remedies": ("draw the weights at random: nn.init.kaiming_normal_(w) or xavier_uniform_(w); only biases may be constant",)}

    def _even(self, fact):
        start = fact.get("initial") or {}
        return len(fact["shape"]) >= 2 and fact["shape"][0] > 1 and fact["requires_grad"] and start.get("row_spread", 1.0) < self.spread \
            and "Norm" not in fact["kind"] and "Embedding" not in fact["kind"] and (not start.get("zero") or fact["shape"][0] > 2)
