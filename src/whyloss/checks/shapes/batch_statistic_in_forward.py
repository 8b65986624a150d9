"""Check: a training that learns, whose model lets the samples of a batch change each other's outputs in eval mode."""

from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class BatchStatisticInForward(Check):
    """A picture classifier takes a statistic over the whole batch in its forward pass, in eval mode too.

    Sees      that the model convolves pictures and is scored on one class a picture; on a copy: one picture changed in eval mode.
    Expects   only that picture's scores to change.
    Means     a mean, maximum or norm over all axes, the batch included: training looks perfect, and the answer for one picture depends on which
              others come with it. With a batch of one it is another model.
    Not for   batch norm without running statistics, graphs, sets, episodes with a support set, contrastive pairs (they have no class a sample).
    Source    exact test: change one sample, see which outputs change.
    """

    stage = "shapes"
    needs = (Need("layer"), Need("loss_call"), Need("input"))
    isolates = "a picture's scores are its own"
    causes = ("samples-mixed",)

    def judge(self, evidence, run):
        if evidence.fact("symptoms", run=run) or not self._classifies_pictures(evidence, run):
            return  # with symptoms, samples-mixed looks at every model
        if not all(c.values[0].get("tracked", True) for c in evidence.by_subject("batch_norm", run).values()):
            return
        yield self.suspect("samples-mixed", step=0, location=next(iter(evidence.by_subject("root", run)), None), asks={"unseen": True},
                           measured="one picture changed in eval mode, the scores of others changed with it",
                           expected="only the changed picture's scores change",
                           message="The scores of one picture depend on the others in its batch, in eval mode too: the model takes a statistic over "
                                   "the batch.",
                           remedies=("take means, maxima and norms over the axes of one sample: dim=(1, 2, 3), keepdim=True",
                                     "evaluate with another batch size and compare"))

    @staticmethod
    def _classifies_pictures(evidence, run) -> bool:
        kinds = {c.values[-1]["kind"] for c in evidence.by_subject("layer", run).values()}
        if not any(kind.startswith("Conv2d") or kind.startswith("Conv3d") for kind in kinds):
            return False
        inputs = [row["shape"] for c in evidence.by_subject("input", run).values() for row in c.values[:1] if "shape" in row]
        calls = [c.values[0] for c in evidence.by_subject("loss_call", run).values()]
        return any(len(i) >= 4 and len(call["shape"]) == 2 and call["shape"][0] == i[0] and "classes" in call for i in inputs for call in calls)
