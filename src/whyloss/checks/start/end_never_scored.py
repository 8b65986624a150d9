"""Check: an end token that is masked together with the padding."""

from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class EndNeverScored(Check):
    """The token that ends each sequence also pads the shorter ones, and is left out of the loss with them.

    Sees      that a model is fed sequences; on a copy: which token ends the rows of several batches, and whether a position is ever asked for it.
    Expects   the end of each row among the scored targets.
    Means     every other token is learned and the loss is good; generation runs to its length limit because no end was ever a target.
    Not for   padding with a token of its own (the longest row of a batch then has none), rows of one length, models that need not stop.
    Source    exact: the gradient of each position's logits; Hugging Face data collators set the label of every padding token to -100.
    """

    stage = "start"
    needs = (Need("sequence_input"), Need("loss"))
    isolates = "the end of a sequence is a target"
    causes = ("padding-in-loss",)

    def judge(self, evidence, run):
        where = next(iter(evidence.by_subject("loss_call", run)), None) or evidence.fact("main_loss_place", run=run)
        yield self.suspect("padding-in-loss", subject="targets", step=0, location=where, asks={"unseen": True, "end": True},
                           measured="the token that ends each row is never a target", expected="the end of each row among the scored targets",
                           message="The end token is masked with the padding, whose token it shares: the model never learns to stop.",
                           remedies=("give padding a token of its own, unlike the end token",
                                     "mask labels by the attention mask (by length), not by the token's id"))
