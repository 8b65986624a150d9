"""Check: positions of a sequence that see what they must predict."""

from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class FutureLeak(Check):
    """A position sees the tokens after it, and the next of them is its target.

    Sees      that a model is fed sequences; on a copy: which shift of its inputs the targets are, and whose outputs change with a later token.
    Expects   outputs up to position t that stay as they are when tokens after t change, at the start and on the trained model.
    Means     the causal mask is missing, turned round, one too wide, or a finite constant that the scores outgrew; or a layer reads backwards.
    Not for   masked language models, taggers, encoders and autoencoders (targets that are not the inputs one later), decoders whose encoder sees
              the target through one summary, tasks that turn the sequence round.
    Source    Vaswani et al. 2017, section 3.2.3; the test is exact up to round-off (1e-5 of the largest output).
    """

    stage = "start"
    needs = (Need("sequence_input"), Need("loss"))
    isolates = "no position sees what it must predict"
    causes = ("future-leak",)

    def judge(self, evidence, run):
        where = next(iter(evidence.by_subject("root", run)), None) or evidence.fact("main_loss_place", run=run)
        yield self.suspect("future-leak", step=0, location=where, explains=("validation-too-good",), asks={"unseen": True},
                           measured="outputs before a changed token change with it, and the targets are the inputs one later",
                           expected="outputs that depend on earlier tokens only",
                           message="Each position sees the token it must predict, so the loss falls by copying, which generation cannot do.",
                           remedies=("mask all later positions: is_causal=True, or -inf above the diagonal before the softmax",
                                     "leave bidirectional=True and centred convolutions to models that predict no next token"))
