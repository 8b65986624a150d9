"""Causes in the axes of tensors."""

from whyloss.cause import Cause, Prediction
from whyloss.causes.predictions import halves, shown

CAUSES = [
    Cause(
        "samples-mixed", "shape",
        title="samples mix with each other",
        meaning="The output of one sample depends on other samples of the batch.",
        why="`view` or `reshape` where `permute` was meant, a batch axis taken for time (`batch_first`), or home-made "
            "batch statistics. The model learns from a blend in which no label belongs to any sample.",
        remedies=(
            "swap axes with `permute` or `transpose`, never with `view` or `reshape`",
            "set `batch_first=True` or give time first",
            "take statistics over the axes of one sample only",
        ),
        source="exact test: change one sample, see which outputs change",
        prediction=Prediction(
            "batch-dependence",
            "changing one sample of a copied batch changes the output of others",
            shown,
        ),
    ),
    Cause(
        "axes-transposed", "shape",
        title="axes in the wrong order",
        meaning="An axis is not what the layer takes it for, without any mixing of samples.",
        why="Channels last given to a layer that takes channels first, height for width, or features for time: sizes "
            "happen to fit, so there is no error, and the layer looks for structure along the wrong axis.",
        remedies=(
            "permute the input to the order that the layer documents",
            "name the axes in a comment at each layer",
        ),
        source="PyTorch documentation of each layer: the shape section",
        prediction=Prediction("swap-axes", "with the two axes exchanged in front of the layer the loss ends at less than half", halves),
    ),
    Cause(
        "silent-broadcast", "shape",
        title="silent broadcast",
        meaning="An operation outside the loss broadcasts its operands to a larger shape that was not meant.",
        why="(N, 1) with (N,) gives (N, N), and so on: no error, but each sample then carries the numbers of all the "
            "others.",
        remedies=(
            "give both operands the same number of axes",
            "assert the shape of the result",
        ),
        source="PyTorch documentation, broadcasting semantics",
        prediction=Prediction("same-shape", "with equal shapes the loss ends lower"),
    ),
]
