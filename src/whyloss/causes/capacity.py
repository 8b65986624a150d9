"""Causes where the pipeline is sound and the model does not fit the amount of data or training."""

from whyloss.cause import Cause, Prediction

CAUSES = [
    Cause(
        "underfitting", "capacity",
        title="model too small",
        meaning="Pipeline and learning rate are sound; the model is too small, or was trained too briefly.",
        why="A bottleneck of a few units, or too few layers, cannot hold what separates the samples. Training and "
            "validation loss stop high, and together.",
        remedies=(
            "widen the narrowest layer",
            "add layers",
            "train longer, with less regularisation",
        ),
        source="Goodfellow et al. 2016, section 5.2: capacity, overfitting and underfitting",
        prediction=Prediction("wider-model", "a wider copy reaches a clearly lower loss by the same recipe"),
    ),
    Cause(
        "overfitting", "capacity",
        title="memorising instead of learning",
        meaning="Training loss goes on falling while validation loss rises.",
        why="The model has learned the samples rather than what they have in common: too few data for its size, or "
            "too many steps.",
        remedies=(
            "stop at the best validation loss",
            "more data or augmentation",
            "weight decay, dropout, or a smaller model",
        ),
        source="Prechelt 1998 (early stopping); Nakkiran et al. 2020 for when it is not final",
    ),
]
