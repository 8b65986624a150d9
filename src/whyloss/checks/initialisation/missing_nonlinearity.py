"""Linear layers with nothing between them."""

from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class MissingNonlinearity(Check):
    """Linear layers feed the next one directly, all or most of them: together they are one linear map.

    Sees      what made the input of each linear or convolutional layer in the traced steps, looking through views.
    Expects   an activation somewhere between the first and the last of them.
    Means     stacked layers can do no more than one; suspected, and confirmed if a ReLU between them ends clearly lower.
    Not for   a single linear layer, low-rank pairs such as LoRA, a training that learns: a linear model may be meant.
    Source    composition of affine maps is affine; UMLAUT's catalogue of faults.
    """

    most: float = 0.5  # of the layers behind another one: a pair here and there is a design (low rank, depthwise and pointwise)

    stage = "initialisation"
    needs = (Need("linear_after"), Need("symptoms"))
    isolates = "the model is more than one linear map"
    causes = ("missing-nonlinearity",)

    def judge(self, evidence, run):
        kinds = {name: column.values[0] for name, column in evidence.by_subject("linear_after", run).items()}
        later = {name: fact for name, fact in kinds.items() if fact["kind"] != "first"}
        stacked = [name for name, fact in later.items() if fact["kind"] == "stacked"]
        if not stacked or len(stacked) <= self.most * len(later):
            return
        first = later[stacked[0]]["before"]
        place = next((s for s in evidence.by_subject("root", run)), None)
        yield self.suspect(
            "missing-nonlinearity", subject=stacked[0], step=0, location=place,
            measured=f"{len(stacked) + 1} linear layers, {first} to {stacked[-1]}, with nothing between them",
            expected="an activation after each but the last",
            message=f"{first} feeds {stacked[0]} directly: together they are one linear map, and a linear map cannot fit these targets.",
            remedies=(f"put an activation (nn.ReLU()) between {first} and {stacked[0]}",),
            explains=("plateau-high", "flat-at-baseline", "underfitting"))
