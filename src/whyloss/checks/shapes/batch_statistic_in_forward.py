"""Check: a training that learns, whose model lets the samples of a batch change each other's outputs in eval mode."""

from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class BatchStatisticInForward(Check):
    """A classifier takes a statistic over the whole batch in its forward pass, in eval mode too.

    Sees      that the model is scored on one class a sample; on a copy: one sample changed in eval mode. Where the samples are no pictures, also
              what the trained model answers to its training rows in batches of the evaluation's size.
    Expects   only that sample's scores to change; the same answers in batches of any size.
    Means     a mean, maximum, softmax or norm over all axes, the batch included: training looks perfect, and the answer for one sample depends on
              which others come with it. With a batch of one it is another model.
    Not for   batch norm without running statistics, graphs, sets, episodes with a support set, contrastive pairs (they have no class a sample),
              attention between samples on purpose (evaluated in batches that it can answer), samples other than pictures that are
              evaluated in batches of the same size.
    Source    exact test: change one sample, see which outputs change; for others than pictures a fall of the share right by 0.15 and by
              5 standard errors is a choice.
    """

    stage = "shapes"
    needs = (Need("layer"), Need("loss_call"), Need("input"))
    isolates = "a sample's scores are its own"
    causes = ("samples-mixed",)

    def judge(self, evidence, run):
        if evidence.fact("symptoms", run=run):
            return  # with symptoms, samples-mixed looks at every model
        if not all(c.values[0].get("tracked", True) for c in evidence.by_subject("batch_norm", run).values()):
            return
        if not self._classifies(evidence, run, 2):
            return
        pictures = self._convolves(evidence, run) and self._classifies(evidence, run, 4)
        what, asks = ("picture", {"unseen": True}) if pictures else ("sample", {"unseen": True, "harm": True})
        yield self.suspect("samples-mixed", step=0, location=next(iter(evidence.by_subject("root", run)), None), asks=asks,
                           measured=f"one {what} changed in eval mode, the scores of others changed with it",
                           expected=f"only the changed {what}'s scores change",
                           message=f"The scores of one {what} depend on the others in its batch, in eval mode too: the model takes a statistic over "
                                   "the batch.",
                           remedies=("take means, maxima, softmaxes and norms over the axes of one sample"
                                     + (": dim=(1, 2, 3), keepdim=True" if what == "picture" else ", never over axis 0"),
                                     "evaluate with another batch size and compare"))

    @staticmethod
    def _convolves(evidence, run) -> bool:
        kinds = {c.values[-1]["kind"] for c in evidence.by_subject("layer", run).values()}
        return any(kind.startswith("Conv2d") or kind.startswith("Conv3d") for kind in kinds)

    @staticmethod
    def _classifies(evidence, run, axes: int) -> bool:
        inputs = [row["shape"] for c in evidence.by_subject("input", run).values() for row in c.values[:1] if "shape" in row]
        calls = [c.values[0] for c in evidence.by_subject("loss_call", run).values()]
        return any(len(i) >= axes and len(call["shape"]) == 2 and call["shape"][0] == i[0] and "classes" in call for i in inputs for call in calls)
