"""Check: sequences of which only the first step reaches the loss."""

from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class OnlyFirstStepRead(Check):
    """Whatever follows the first step of a sequence makes no difference to the loss.

    Sees      the symptom; the experiment exchanges all steps but the first between the samples of a batch, on copies, for four sets of weights.
    Expects   a loss that depends on what comes later.
    Means     the first output of a recurrent net is read in place of the last: it has seen one step only.
    Not for   trainings that learn, targets for each step, nets that read both ways or attend to all steps, inputs that are no sequences.
    Source    exact test: the loss stays bit for bit, and moves when the first step is exchanged.
    """

    stage = "data"
    needs = (Need("symptoms"), Need("input"))
    isolates = "more than the first step of a sequence is read"
    causes = ("model-drops-information",)

    def judge(self, evidence, run):
        where = next(iter(evidence.by_subject("root", run)), None) or evidence.fact("main_loss_place", run=run)
        yield self.suspect(
            "model-drops-information", subject="model", step=0, location=where, asks={"unseen": True, "later_steps": True},
            explains=tuple(evidence.fact("symptoms", run=run)),
            measured="exchanging all steps but the first leaves the loss as it was, bit for bit, for every set of weights tried",
            expected="a loss that depends on the later steps too",
            message="Only the first step of each sequence reaches the loss: what comes after it is computed and not read.",
            remedies=("read the last output of the recurrent net, out[:, -1], or its final state h_n[-1]",
                      "with padded batches, read the last step that is no padding"))
