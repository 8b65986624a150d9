"""Causes in sequences: what a position sees, and what it is scored on."""

from whyloss.cause import Cause, Prediction
from whyloss.causes.predictions import shown

CAUSES = [
    Cause(
        "future-leak", "sequence",
        title="positions see the future",
        meaning="Position t sees what it must predict.",
        why="The causal mask is missing, inverted or shorter than the sequence. Training loss falls far too low, and "
            "generation, which has no future to look at, fails.",
        remedies=(
            "mask all later positions (`is_causal=True`, or a mask of -inf above the diagonal)",
            "check whether True means keep or block in the mask at hand",
        ),
        source="exact test: change tokens after t, outputs up to t must not change; Vaswani et al. 2017",
        prediction=Prediction("future-dependence", "changing later tokens of a copied batch changes the outputs of earlier positions", shown),
    ),
    Cause(
        "targets-misshifted", "sequence",
        title="targets shifted wrongly",
        meaning="Targets are shifted twice against the inputs, or not at all.",
        why="Unshifted, the model copies its input and learns nothing about order; shifted twice (by the data and "
            "again by the model) it is asked for the token after next.",
        remedies=(
            "score the output at t against the token at t+1, in one place only",
            "give `labels = input_ids` to models that shift by themselves",
        ),
        source="Hugging Face Transformers documentation: labels are shifted inside causal models",
        prediction=Prediction("target-shift", "each position is asked for a token other than the one after the last it sees", shown),
    ),
    Cause(
        "padding-in-loss", "sequence",
        title="padding is scored",
        meaning="Padding positions count in the loss, or the real end token does not.",
        why="Predicting padding is easy and plentiful: the loss falls for that reason alone. If padding and end token "
            "share an id, ignoring one ignores the other and the model never learns to stop.",
        remedies=(
            "set padded targets to the `ignore_index` of the loss (-100)",
            "give padding a token of its own",
            "average over real tokens",
        ),
        source="PyTorch documentation, CrossEntropyLoss: ignore_index",
        prediction=Prediction("padding-scored", "padding is scored, or the end token that shares its id never is", shown),
    ),
    Cause(
        "mask-blocks-row", "sequence",
        title="mask blocks a whole row",
        meaning="A row of the attention mask leaves a position nothing to look at.",
        why="The softmax over a row of -inf is NaN, or zero in some kernels; NaN then spreads through every later "
            "layer.",
        remedies=(
            "let each position see at least itself",
            "leave fully padded sequences out of the batch",
            "use a large negative number in place of -inf and drop the row from the loss",
        ),
        source="definition of softmax; PyTorch documentation, scaled_dot_product_attention",
    ),
]
