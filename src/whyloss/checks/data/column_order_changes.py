"""Check: inputs whose columns (pixels, features) stand in another order in each batch."""

from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class ColumnOrderChanges(Check):
    """The preparation shuffles the columns of the inputs anew for each batch.

    Sees      the symptom; the experiment compares the means of the columns within and between the captured batches.
    Expects   a column (a pixel, a feature) that stands in one place throughout.
    Means     what the label depends on, which column holds what, is destroyed before the model sees it. Confirmed if the same training learns once
              the columns of each batch are sorted into one order.
    Not for   trainings that learn; columns that are all alike; token ids; sets and graphs, whose rows are shuffled and not their columns.
    Source    variance of column means against its null within a batch, their correlation between batches; then the remedy itself.
    """

    stage = "data"
    needs = (Need("symptoms"), Need("loss"))
    isolates = "each column of the input keeps its place"
    causes = ("model-drops-information",)

    def judge(self, evidence, run):
        where = next(iter(evidence.by_subject("root", run)), None) or evidence.fact("main_loss_place", run=run)
        yield self.suspect(
            "model-drops-information", subject="input", step=0, location=where, asks={"unseen": True},
            explains=tuple(evidence.fact("symptoms", run=run)),
            measured="the means of the columns differ within each batch and are unrelated between batches; sorted, they agree",
            expected="a column in one place in every batch",
            message="The columns of the input are shuffled anew for each batch, so nothing says which of them holds what.",
            remedies=("take the permutation of columns out of the preparation",
                      "to shuffle samples, permute the first axis: x[torch.randperm(len(x))]"))
