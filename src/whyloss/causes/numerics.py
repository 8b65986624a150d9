"""Causes in number formats and operations: where NaN and infinity come from, and what rounding swallows."""

from whyloss.cause import Cause, Prediction
from whyloss.causes.predictions import shown

_GUARDED = Prediction("guard-operation", "with the operation guarded, the same steps from the last good state stay finite", shown)

CAUSES = [
    Cause(
        "log-of-zero", "numerics",
        title="logarithm of zero",
        meaning="The first non-finite value was made by a logarithm of 0 or of a negative number.",
        why="A softmax or sigmoid reaches exactly 0 when the model becomes sure, often only after hundreds of good "
            "steps; the logarithm is then -inf and its gradient NaN.",
        remedies=(
            "use `log_softmax`, `logsigmoid` or a loss on logits",
            "add a small number inside the logarithm",
        ),
        source="PyTorch documentation, log_softmax: numerically stable form",
        prediction=_GUARDED,
    ),
    Cause(
        "division-by-zero", "numerics",
        title="division by zero",
        meaning="The first non-finite value was made by a division by 0.",
        why="A constant column has a standard deviation of 0, an empty mask a sum of 0, a zero vector a norm of 0.",
        remedies=(
            "add a small number to the divisor, or clamp it from below",
            "drop constant columns and empty samples",
        ),
        source="IEEE 754: x/0 is infinite, 0/0 is NaN",
        prediction=_GUARDED,
    ),
    Cause(
        "root-at-zero", "numerics",
        title="square root at zero",
        meaning="A root (or a norm) is taken at exactly 0, where its slope is infinite.",
        why="The forward value is a harmless 0, the gradient is infinite, or NaN after a product with 0. Distances of "
            "equal points are the usual place.",
        remedies=(
            "add a small number under the root",
            "use the squared distance",
            "leave equal pairs out",
        ),
        source="derivative of the square root: 1 / (2 sqrt x)",
        prediction=_GUARDED,
    ),
    Cause(
        "exp-overflow", "numerics",
        title="exponential overflows",
        meaning="The first non-finite value was made by an exponential of a large number.",
        why="exp leaves the range above 88 in float32 and above 11 in float16. A hand-written softmax without "
            "subtracting the maximum gets there as the logits grow.",
        remedies=(
            "use `softmax`, `logsumexp` or `softplus`, which are safe",
            "subtract the maximum before exp",
        ),
        source="log of the largest number: 88.7 (float32), 11.1 (float16)",
        prediction=_GUARDED,
    ),
    Cause(
        "non-finite-gradient", "numerics",
        title="finite loss, non-finite gradient",
        meaning="The forward pass is finite, the backward pass is not.",
        why="The unselected branch of `where` is differentiated too, a clamp after the unsafe operation comes too "
            "late, and 0 times infinity is NaN: a mask removes the value but not its gradient.",
        remedies=(
            "make the input safe before the operation, not its result after it",
            "select the valid entries first, then compute",
        ),
        source="PyTorch documentation, autograd: where and NaN gradients",
        prediction=_GUARDED,
    ),
    Cause(
        "infeasible-sample", "numerics",
        title="a sample that cannot be scored",
        meaning="A single sample makes the loss infinite.",
        why="CTC needs at least as many frames as labels (and one more per repeated label); a target outside a "
            "bounded range has probability 0. One such sample spoils the batch.",
        remedies=(
            "drop the samples named in the finding, or make them longer",
            "use `zero_infinity=True` in `ctc_loss`",
        ),
        source="PyTorch documentation, CTCLoss: zero_infinity",
        prediction=Prediction("drop-bad-rows", "without these samples the loss stays finite"),
    ),
    Cause(
        "half-precision-overflow", "numerics",
        title="too large for float16",
        meaning="A value leaves the range of float16.",
        why="float16 ends at 65504: a squared activation, a sum over many elements or a masked score of -1e9 becomes "
            "infinite.",
        remedies=(
            "use bfloat16, or compute this operation in float32",
            "use `torch.finfo(dtype).min` for masked scores",
            "normalise before squaring or summing",
        ),
        source="IEEE 754 binary16; Micikevicius et al. 2018, arXiv 1710.03740",
        prediction=_GUARDED,
    ),
    Cause(
        "half-precision-underflow", "numerics",
        title="too small for float16",
        meaning="Gradients vanish below the smallest half-precision number.",
        why="What is under 6e-8 becomes exactly 0 in float16, so layers far from the loss get nothing, although "
            "float32 would give them a gradient.",
        remedies=(
            "scale the loss with `torch.amp.GradScaler`",
            "use bfloat16 or float32",
        ),
        source="Micikevicius et al. 2018, arXiv 1710.03740",
        prediction=Prediction("single-precision", "in float32 the gradient arrives and the loss falls"),
    ),
    Cause(
        "update-below-precision", "numerics",
        title="updates are rounded away",
        meaning="Updates are smaller than half a step of the number format that the parameters are kept in.",
        why="bfloat16 keeps three digits: adding a thousandth of a per cent gives back the old number. Gradients are "
            "there, the weights do not move.",
        remedies=(
            "keep the weights in float32 and use autocast for the forward pass",
            "use an optimizer with float32 master weights or stochastic rounding",
        ),
        source="machine epsilon: 7.8e-3 (bfloat16), 9.8e-4 (float16); Micikevicius et al. 2018",
        prediction=Prediction("single-precision", "with weights in float32 the same steps lower the loss"),
    ),
]
