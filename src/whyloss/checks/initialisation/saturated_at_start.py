"""Check: sigmoid or tanh units that sit in their flat part before the first step."""

from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class SaturatedAtStart(Check):
    """Most sigmoid or tanh units of a hidden layer are in their flat part at step 0.

    Sees      share of outputs beyond .97 at step 0, layer by layer; the scale of the batch the model got.
    Expects   a small share: a saturated unit passes next to no gradient to the weights in front.
    Means     large inputs (if the first activation is the one that saturates) or large weights push the units there.
    Not for   output activations (unless all of their entries are flat and the loss never moves), gates,
              trainings that learn: the share alone misleads, a net with 67 % saturated units trained best.
    Source    Glorot and Bengio 2010; LeCun et al. 1998; own measurements.
    """

    share: float = 0.5
    all: float = 0.99     # of an output's entries, where the loss never moves
    spread: float = 5.0   # standard deviation of inputs that calls for scaling

    stage = "initialisation"
    needs = (Need("saturated_share", at=0),)
    isolates = "the first forward pass leaves a slope"
    causes = ("saturated-activations", "inputs-not-normalised")

    def judge(self, evidence, run):
        if (evidence.fact("learned", run=run) or {}).get("learned"):
            return
        if any(len(c) >= 3 and min(c.values) == 1.0 for c in evidence.by_subject("dead_over_batches", run).values()):
            return  # a layer of ReLUs is dead from the start: what is saturated behind it is constant, whatever its own weights
        shares = {s: c.at(0) for s, c in evidence.by_subject("saturated_share", run).items() if c.at(0) is not None}
        final = {c.values[0].get("producer_module") for c in evidence.by_subject("loss_call", run).values()}
        stuck = "flat-from-start" in (evidence.fact("symptoms", run=run) or ())  # an output that is flat for every sample from the start
        full = [s for s, share in shares.items() if share > self.share and (s not in final or stuck and share > self.all)]
        if not full:
            return
        where = evidence.fact("activation_place", full[0], run)
        said = {"subject": evidence.fact("activation_layer", full[0], run) or full[0].split(":")[0], "step": 0,
                "explains": ("flat-from-start", "flat-at-baseline", "plateau-high"),
                "measured": f"{shares[full[0]]:.0%} of the units of {full[0]} are saturated at step 0"}
        batch = next((c.values[0] for c in evidence.by_subject("input", run).values()), None)
        wide = batch and batch["floating"] and max(batch["std"], abs(batch["mean"])) > self.spread
        if wide and full[0] == next(iter(shares)):
            said["measured"] += f"; the inputs reach from {batch['min']:.4g} to {batch['max']:.4g} (standard deviation {batch['std']:.3g})"
            yield self.suspect("inputs-not-normalised", **{**said, "subject": f"input of {said['subject']}"},
                               location=next(iter(evidence.by_subject("input", run))), expected="inputs of mean 0 and standard deviation 1",
                               message=f"The raw inputs (up to {batch['max']:.4g}) push the units of {full[0]} into their flat part, where no "
                                       f"gradient passes.")
        yield self.suspect("saturated-activations", **said, location=where, asks={"fit": True}, expected=f"less than {self.share:.0%}",
                           message=f"Most units of {full[0]} sit where the curve is flat, so the weights in front of it get next to no gradient.")
