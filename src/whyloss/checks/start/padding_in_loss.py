"""Check: padding that counts in the loss."""

from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class PaddingInLoss(Check):
    """Positions whose target is padding are scored.

    Sees      that a model is fed sequences; on a copy: which positions the loss gives a gradient, and which of their targets are padding.
    Expects   no padding among the scored targets.
    Means     predicting padding is easy and plentiful: the loss falls for that reason, and the real tokens count for little.
    Not for   a token that nothing in the program names as padding (no padding_idx, no mask over its places), rows of one length, an end token.
    Source    PyTorch documentation, CrossEntropyLoss: ignore_index; 5 % of the scored positions is a choice.
    """

    stage = "start"
    needs = (Need("sequence_input"), Need("loss"))
    isolates = "only real tokens are scored"
    causes = ("padding-in-loss",)

    def judge(self, evidence, run):
        where = next(iter(evidence.by_subject("loss_call", run)), None) or evidence.fact("main_loss_place", run=run)
        yield self.suspect("padding-in-loss", subject="targets", step=0, location=where, asks={"unseen": True},
                           measured="positions with padding as their target get a gradient from the loss", expected="none",
                           message="The loss also scores padding: padding is easy, so the average says little about the real tokens.",
                           remedies=("give the loss the padding token as ignore_index", "average over real tokens only"))
