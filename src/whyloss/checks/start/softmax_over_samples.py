"""Check: attention or pooling weights that are normalised over the samples of the batch."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.start import size


@dataclass(frozen=True)
class SoftmaxOverSamples(Check):
    """A softmax inside the model normalises over the batch, while the values that it weights are summed over another axis.

    Sees      the axis of each softmax, whether it was named, the axis over which the weighted values are summed; on a copy: whether one
              sample changes the outputs of others in eval mode.
    Expects   the same axis for both: weights that add up to 1 where they are summed.
    Means     the samples of a batch compete for weight: the loss falls, for each batch finds its way, and in batches of another size, or of
              one, the answers are others. `nn.Softmax()` without dim takes axis 0 of a tensor with three axes.
    Not for   weights over the samples that are also summed over them (bags, graphs, attention between samples), square score matrices.
    Source    PyTorch documentation, softmax: the axis that is taken where none is named; exact test on a copy: change one sample.
    """

    stage = "start"
    needs = (Need("normalised_over"), Need("loss_call"), Need("input"))
    isolates = "no weights are normalised over the batch"
    causes = ("softmax-over-wrong-dimension",)

    def judge(self, evidence, run):
        rows = {c.values[0]["shape"][0] for c in evidence.by_subject("loss_call", run).values() if c.values[0]["shape"]}
        rows &= {row["shape"][0] for c in evidence.by_subject("input", run).values() for row in c.values[:1] if row.get("shape")}
        for place, column in evidence.by_subject("normalised_over", run).items():
            call = column.values[0]
            shape, summed = call["shape"], call.get("summed")
            if "chosen" not in call or call["function"] != "softmax" or shape[0] not in rows or shape[0] < 3 or \
                    shape[0] in shape[1:] and len(shape) == 2:
                continue
            if summed == 0 or summed is None and call["chosen"]:
                continue
            instead = f"summed over axis {summed}" if summed is not None else "axis 0 was never named"
            yield self.suspect("softmax-over-wrong-dimension", subject=call["module"] or "softmax", step=column.first.step, location=place,
                               asks={"unseen": True, "samples": True}, explains=("plateau-high",),
                               measured=f"softmax over axis 0 of {size(shape)}, the {shape[0]} samples of the batch; {instead}",
                               expected=f"weights that add up to 1 over axis {summed if summed is not None else 1}",
                               message="The samples of a batch compete for weight: the output of one depends on which others come with it.",
                               remedies=(f"name the axis: softmax(..., dim={summed if summed is not None else 1})",))
