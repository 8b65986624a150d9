"""Causes in normalisation and randomness."""

from whyloss.cause import Cause, Prediction
from whyloss.causes.predictions import shown, shown_if_held

CAUSES = [
    Cause(
        "batch-statistics-unreliable", "mode",
        title="batch norm on tiny batches",
        meaning="Batch normalisation works with batches of one or two, or with a mix of distributions.",
        why="Mean and variance of so few values are noise; for a single value the normalised output is constant "
            "whatever the input.",
        remedies=(
            "use a larger batch",
            "use group or layer normalisation",
            "drop the last, smaller batch",
        ),
        source="Ioffe and Szegedy 2015; Wu and He 2018 (group normalization), arXiv 1803.08494",
        prediction=Prediction("other-normalisation", "with each sample normalised by itself the loss ends lower"),
    ),
    Cause(
        "running-statistics-off", "mode",
        title="running statistics are off",
        meaning="The running mean or variance of a normalisation layer is far from that of the data.",
        why="A momentum of 0 or nearly 0, too few steps, frozen layers that drift on, or a variance near epsilon: "
            "training, which uses the batch, is fine, and evaluation is not.",
        remedies=(
            "use a momentum of 0.1 (in PyTorch: the weight of the new value)",
            "estimate the statistics again over some batches before evaluating",
            "put frozen layers in eval mode",
        ),
        source="PyTorch documentation, BatchNorm: definition of momentum",
        prediction=Prediction("recalibrate-statistics", "with statistics estimated again the evaluation loss falls", shown),
    ),
    Cause(
        "dropout-too-strong", "mode",
        title="dropout too strong",
        meaning="Dropout removes so much that what is left cannot be learned from.",
        why="At 0.95 one unit in twenty remains, scaled up twentyfold: the signal drowns in its own noise.",
        remedies=(
            "lower `p` to 0.1 to 0.5",
            "check that `p` is meant as the share to drop, not to keep",
        ),
        source="Srivastava et al. 2014 (dropout); PyTorch documentation, Dropout: p is the probability to zero",
        prediction=Prediction("without-dropout", "without dropout the same batches are learned, or new rows are answered better after no more steps",
                              shown_if_held),
    ),
]
