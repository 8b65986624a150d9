"""Check: targets of a sequence model that are shifted twice or not at all."""

from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class TargetsMisshifted(Check):
    """A causal model is asked for the token it sees, or for the token after next.

    Sees      that a model is fed sequences; on a copy: the token that the loss pulls each position to, and the last token that position sees.
    Expects   a target one token after the last that the position sees.
    Means     the shift between inputs and targets is missing (the model copies), or done twice (by the data and again by the model).
    Not for   models that see the whole sequence (autoencoders, taggers, masked language models), positions without a past, sequences of numbers.
    Source    Hugging Face Transformers documentation: causal models shift their labels themselves; equality of tokens is exact.
    """

    stage = "start"
    needs = (Need("sequence_input"), Need("loss"))
    isolates = "each position is asked for the token after those it sees"
    causes = ("targets-misshifted",)

    def judge(self, evidence, run):
        where = next(iter(evidence.by_subject("loss_call", run)), None) or evidence.fact("main_loss_place", run=run)
        yield self.suspect("targets-misshifted", subject="targets", step=0, location=where, asks={"unseen": True},
                           measured="the targets equal the inputs of the same position, or those two later",
                           expected="the inputs one later",
                           message="Inputs and targets are not one token apart: either the model copies what it sees, or it is asked for the token "
                                   "after next.",
                           remedies=("score the output at t against the token at t + 1, in one place only",
                                     "give labels = input_ids to a model that shifts them itself"))
