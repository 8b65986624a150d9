"""Causes in the size of the step."""

from whyloss.cause import Cause, Prediction
from whyloss.causes.predictions import wins_or_does_not_break

CAUSES = [
    Cause(
        "learning-rate-too-high", "rate",
        title="learning rate too high",
        meaning="The steps are too long: they jump over the valley they should walk down.",
        why="The loss jumps, settles high, or diverges; units can die and never come back, after which the curve is "
            "flat and looks like a rate that is too low.",
        remedies=(
            "divide the learning rate by 10, then by 3 more if that helps",
            "warm the rate up over the first steps",
            "start from fresh weights after lowering it: the old ones may be beyond repair",
        ),
        source="Smith 2017, arXiv 1506.01186 (range test); Cohen et al. 2021 (edge of stability)",
        prediction=Prediction("lower-learning-rate", "at a tenth of the rate, or less, the same batches end lower", wins_or_does_not_break),
    ),
    Cause(
        "learning-rate-too-low", "rate",
        title="learning rate too low",
        meaning="The steps are so short that the loss hardly moves in the time given.",
        why="Each step goes the right way, only not far enough: the update is a tiny share of the weights and the "
            "curve looks flat.",
        remedies=(
            "multiply the learning rate by 10 until the loss stops improving, then take the last good value",
            "begin near 1e-3 for Adam, 1e-1 for SGD with normalisation layers",
        ),
        source="Smith 2017, arXiv 1506.01186 (range test)",
        prediction=Prediction("raise-learning-rate", "at ten times the rate, or more, the same batches end lower"),
    ),
    Cause(
        "learning-rate-unsuited-to-part", "rate",
        title="one rate for unequal parts",
        meaning="One part of the model needs another learning rate than the rest.",
        why="A fresh head on a pretrained body needs large steps, the body small ones. With one rate for both either "
            "the head stands still or the body forgets.",
        remedies=(
            "use parameter groups: a rate 10 to 100 times smaller for the pretrained part",
            "train the head alone first, then all together",
        ),
        source="Howard and Ruder 2018 (discriminative fine-tuning), arXiv 1801.06146",
    ),
    Cause(
        "batch-too-small", "rate",
        title="batch too small",
        meaning="The gradient of a batch is mostly noise.",
        why="With few samples its direction changes from step to step by more than it points anywhere, so steps undo "
            "each other and the loss jitters at a high level.",
        remedies=(
            "use a larger batch, or accumulate gradients over several",
            "lower the learning rate",
        ),
        source="McCandlish et al. 2018 (gradient noise scale), arXiv 1812.06162",
        prediction=Prediction("larger-batch", "with several batches averaged per step the loss ends lower"),
    ),
    Cause(
        "weight-decay-too-strong", "rate",
        title="weight decay too strong",
        meaning="Weight decay pulls the weights to zero faster than the gradient moves them away.",
        why="The decay term outweighs the gradient; weights shrink until the output is constant and the loss sits at "
            "its baseline.",
        remedies=(
            "lower `weight_decay` (1e-4 for SGD, 1e-2 for AdamW are usual)",
            "leave biases and normalisation layers out of it",
        ),
        source="Krogh and Hertz 1991; Loshchilov and Hutter 2019, arXiv 1711.05101",
        prediction=Prediction("without-weight-decay", "without weight decay the same batches are learned"),
    ),
    Cause(
        "optimizer-epsilon", "rate",
        title="epsilon of the optimizer",
        meaning="The epsilon of an adaptive optimizer dominates the step, or turns noise into steps.",
        why="If epsilon is far above the size of the gradients, Adam becomes slow SGD; if it is 0 in the number "
            "format in use (1e-8 is, in float16), 0/0 gives NaN.",
        remedies=(
            "use 1e-8 for float32; 1e-4 to 1e-7, or a float32 state, for half precision",
            "scale the loss so that gradients lie well above epsilon",
        ),
        source="Kingma and Ba 2015, arXiv 1412.6980; smallest float16 number: 6e-8",
        prediction=Prediction(
            "larger-epsilon",
            "with an epsilon that fits the gradients the loss stays finite and falls",
        ),
    ),
]
