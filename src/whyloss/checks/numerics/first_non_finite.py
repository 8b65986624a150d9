"""Check: which operation made the first non-finite value."""

import math
from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.rate.accumulation_not_normalised import AccumulationNotNormalised

_UNSAFE = {
    "log-of-zero": ("the logarithm of {zeros}", "an argument above 0"),
    "division-by-zero": ("a division by 0", "a divisor that is not 0"),
    "root-at-zero": ("a root at 0, where its slope is infinite", "an argument above 0"),
    "exp-overflow": ("the exponential of {max:.4g}", "an argument below 88 in float32, 11 in float16"),
}
_MASKS = ("masked_fill", "masked_fill_", "full", "full_like", "fill_", "where")


@dataclass(frozen=True)
class FirstNonFinite(Check):
    """A loss, gradient or weight became NaN or infinite.

    Sees      the replay of the first such step, walked back from the loss or the gradient to the operation that made the value.
    Expects   finite numbers in forward, backward and update.
    Means     the named operation met an argument outside its domain; or the values had simply grown too large: a rate or a scale at fault.
    Not for   NaN that a mask removes again, infinite gradients that a GradScaler skips on purpose.
    Source    own measurements: linked from the sink back; the first non-finite operation in time proves nothing.
    """

    grown: float = 10.0    # times the first loss: the run was diverging before

    stage = "numerics"
    needs = (Need("first_non_finite"),)
    isolates = "every number is a number"
    causes = ("log-of-zero", "division-by-zero", "root-at-zero", "exp-overflow", "non-finite-gradient", "infeasible-sample",
              "half-precision-overflow", "optimizer-epsilon", "non-finite-inputs", "labels-corrupted", "mask-blocks-row",
              "learning-rate-too-high", "exploding-gradients", "accumulation-not-normalised")

    def judge(self, evidence, run):
        fact = evidence.fact("first_non_finite", run=run)
        finite = evidence.series("loss", run=run).first_non_finite() is None
        if finite and (evidence.fact("learned", run=run) or {}).get("learned"):
            return  # skipped on purpose (a loss scaler) or masked again: the training went on and learned
        if fact["phase"] == "update":
            yield from self._update(fact)
        elif fact.get("kind") == "input":
            yield from self._from_outside(evidence, run, fact)
        else:
            yield from self._operation(evidence, run, fact)

    def _facts(self, fact, *, place=None, operation=None):
        operation = operation or fact.get("operation") or "?"
        return {"subject": fact.get("module") or operation, "step": fact["step"],
                "location": place or fact.get("place") or fact["backward_at"],
                "explains": ("non-finite", "diverged", "flat-from-start"),
                "asks": {"place": place or fact.get("place"), "operation": operation, "phase": fact["phase"]}}

    def _update(self, fact):
        settings = f"{fact.get('optimizer')}, eps = {fact.get('eps')}, {fact.get('dtype')}"
        if fact.get("eps_underflows"):
            share = fact.get("second_moment_zero_share") or 0.0
            yield self.prove("optimizer-epsilon", **{**self._facts(fact), "subject": f"{fact.get('optimizer')} (eps), {fact.get('module')}"},
                             measured=f"eps = {fact['eps']:g} is 0 in {fact['dtype']}; {share:.0%} of the second moments are 0 too",
                             expected="an epsilon above the smallest number of the weight's format",
                             message="Loss and gradients were finite; the optimizer divided 0 by 0: its epsilon rounds to 0 in half precision.",
                             remedies=("keep the weights in float32 and use autocast", "use eps=1e-4 with float16 weights"))
        elif fact.get("dtype") == "float16":
            yield self.prove("half-precision-overflow", **self._facts(fact), measured=settings, expected="updates below 65504",
                             message="Loss and gradients were finite; the optimizer's own numbers left the range of float16.")
        else:
            yield self.suspect("learning-rate-too-high", **self._facts(fact), measured=f"lr = {fact.get('lr')}; {settings}",
                               expected="a finite weight after a step on finite gradients",
                               message="Loss and gradients were finite, the step was not: it is too long for these weights.")

    def _from_outside(self, evidence, run, fact):
        hidden = next(iter(fact.get("hidden_in_forward") or ()), None)
        if fact["phase"] == "backward":
            where = hidden or fact
            yield self.prove("non-finite-gradient", **self._facts(fact, place=where.get("place"), operation=where.get("operation")),
                             measured=f"loss {fact['loss']:.4g} is finite, its gradient is NaN", expected="no NaN on a path that is differentiated",
                             message=f"NaN values enter at {where.get('operation')} and are masked only afterwards: the value is hidden, "
                                     "but 0 times NaN is NaN in the backward pass.",
                             remedies=("select the valid entries before the subtraction: pred[mask] - target[mask]",
                                       "fill the missing targets with 0 before the loss, then mask"))
            return
        bad_input, bad_target = _bad_data(evidence, run, fact["step"])
        facts = {**self._facts(fact), "subject": "input" if bad_input or not bad_target else "target"}
        if bad_input or bad_target:
            yield self.prove("non-finite-inputs", **facts,
                             measured=f"{bad_input or bad_target} non-finite values in the batch of step {fact['step']}",
                             expected="0", message=f"The batch already holds NaN or infinite values; {fact['operation']} only passes them on.")
        else:
            facts["asks"] = {**facts["asks"], "clean_inputs": True}
            yield self.suspect("non-finite-inputs", **facts,
                               measured=f"{fact['operation']} received a non-finite value that no traced operation made",
                               expected="finite inputs", message="A tensor that came from outside the step was not finite.")

    def _operation(self, evidence, run, fact):
        operation, kind, dtype = fact.get("operation") or "", fact.get("kind"), fact.get("dtype")
        low, high = fact.get("input_min") or 0.0, fact.get("input_max") or 0.0
        hidden = next(iter(fact.get("hidden_in_forward") or ()), None)
        facts = self._facts(fact)
        kind = _refined(fact, kind, low, high)
        if kind in _UNSAFE and fact["phase"] == "backward" and hidden and hidden.get("operation") == operation:
            yield self.prove("non-finite-gradient", **facts, measured=f"loss {fact['loss']:.4g} is finite, the gradient of {operation} is not",
                             expected="a safe argument in every branch",
                             message=f"{operation} was infinite where a mask or `where` then removed it: the value is gone, its gradient is not.",
                             remedies=(f"make the argument of {operation} safe before the operation: torch.where(mask, x, 1)",))
        elif dtype == "float16" and (kind == "overflow" or kind == "exp-overflow"):
            yield self.prove("half-precision-overflow", **facts, measured=f"{operation} of values in [{low:.4g}, {high:.4g}] leaves float16",
                             expected="results below 65504", message=f"{operation} gave a number that float16 cannot hold.",
                             remedies=("run this operation in float32 or bfloat16",))
        elif kind in _UNSAFE:
            what, expected = _UNSAFE[kind]
            text = what.format(zeros="a negative number" if low < 0 else "0", max=high)
            way = " in the backward pass" if fact["phase"] == "backward" else ""
            counted = kind in ("log-of-zero", "root-at-zero") and fact.get("input_zeros")
            zeros = f"; {fact['input_zeros']} of {fact['entries']} are 0" if counted else ""
            seen = f"{operation} of values in [{low:.4g}, {high:.4g}]{zeros}"
            if way:
                seen = f"loss {fact['loss']:.4g} is finite, the gradient through {operation} is not"
            yield self.prove(kind, **facts, measured=seen, expected=expected,
                             message=f"The first non-finite value was made{way} by {operation}: {text}.")
        elif "ctc" in operation:
            yield self.prove("infeasible-sample", **facts, measured=f"{operation} = {fact['loss']} from finite log-probabilities",
                             expected="at least as many frames as labels", message="A sample has fewer frames than labels, so its loss is infinite.")
        elif _ignored(evidence, run, fact["step"]):
            yield self.prove("labels-corrupted", **facts, measured="every label of the batch is ignore_index", expected="at least one real label",
                             message="All labels of this batch are ignored: the mean over nothing is 0 / 0.")
        elif operation in _MASKS and math.isnan(fact["loss"]):
            yield self.prove("mask-blocks-row", **facts, measured="a softmax over nothing but -inf", expected="one open entry in each row",
                             message="A row of the mask blocks every entry, so its softmax is NaN.")
        else:
            yield from self._grown(evidence, run, fact, operation)

    def _grown(self, evidence, run, fact, operation):
        losses = [v for s, v in zip(evidence.series("loss", run=run).steps, evidence.series("loss", run=run).values) if s < fact["step"]]
        losses = [v for v in losses if math.isfinite(v)]
        recurrent = [s for s, c in evidence.by_subject("layer", run).items() if str(c.values[-1]["kind"]).startswith(("RNN", "LSTM", "GRU"))]
        norms = [v for c in evidence.by_subject("grad_norm_total", run).values() for v in c.values[:1]]
        facts = {**self._facts(fact), "asks": {}}
        seen = f"loss {losses[0]:.4g} at first, {losses[-1]:.4g} before the end" if losses else "not finite from the first step on"
        measured = f"{seen}; first gradient norm {norms[0]:.4g}" if norms else seen
        if recurrent and norms and (norms[0] > 1e3 or not math.isfinite(norms[0])):
            yield self.suspect("exploding-gradients", **{**facts, "subject": f"{recurrent[0]}.weight_hh_l0"}, measured=measured,
                               expected="gradients of order 1",
                               message=f"The gradient through {recurrent[0]} is huge before the first step: each time step multiplies it.")
        if not losses or losses[-1] > self.grown * abs(losses[0]) or fact["step"] < 20 or math.isfinite(fact["loss"]):
            made = [c.values[-1]["place"] for c in evidence.by_subject("optimizer", run).values() if c.values[-1].get("place")]
            group = next(iter(evidence.by_subject("learning_rate", run)), facts["subject"])
            yield from AccumulationNotNormalised().judge(evidence, run)
            yield self.suspect("learning-rate-too-high", **{**facts, "subject": group, **({"location": made[0]} if made else {})},
                               measured=measured, expected="a loss that does not grow",
                               message=f"{operation or 'An operation'} overflowed because the numbers had grown: the steps are too long.")


def _refined(fact, kind, low, high):
    """A power or a division of huge numbers is an overflow, whatever the operation's usual danger."""
    operation, huge = fact.get("operation"), max(abs(low), abs(high)) > 1e15
    if fact["phase"] == "backward":
        return kind
    smooth = operation in ("linalg_vector_norm", "norm", "cdist", "_euclidean_dist") or operation == "pow" and not fact.get("input_zeros")
    if kind == "root-at-zero" and (huge or smooth):
        return "overflow"
    if kind == "division-by-zero" and fact.get("second_zeros") == 0 and huge:
        return "overflow"
    if kind == "log-of-zero" and low > 0:
        return "overflow"
    return kind


def _bad_data(evidence, run, step):
    """(non-finite values in the inputs, in the targets) of one step."""
    inputs = [c.at(step) for c in evidence.by_subject("input", run).values()]
    targets = [c.at(step) for c in evidence.by_subject("loss_call", run).values()]
    return (sum(row["non_finite"] for row in inputs if row), sum(row.get("target_non_finite", 0) for row in targets if row))


def _ignored(evidence, run, step):
    rows = [c.at(step) for c in evidence.by_subject("loss_call", run).values()]
    return any(row and row.get("ignored_share") == 1 for row in rows)
