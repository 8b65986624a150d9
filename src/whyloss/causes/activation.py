"""Causes inside the model: what activations and gradients do on their way."""

from whyloss.cause import Cause, Prediction

CAUSES = [
    Cause(
        "saturated-activations", "activation",
        title="saturated units",
        meaning="Sigmoid or tanh units sit in their flat part for nearly every input.",
        why="There the derivative is close to zero, so the weights in front get next to no gradient. Large inputs or "
            "large weights push them there.",
        remedies=(
            "scale the inputs to about mean 0 and variance 1",
            "initialise with smaller weights (Glorot)",
            "use a normalisation layer, or ReLU",
        ),
        source="Glorot and Bengio 2010; LeCun et al. 1998 (Efficient BackProp)",
        prediction=Prediction("fresh-init", "from an initialisation that fits the inputs the loss falls"),
    ),
    Cause(
        "dead-relus", "activation",
        title="dead ReLU units",
        meaning="Units of a layer give 0 for every input, so no gradient passes through them.",
        why="Their input is negative for all samples: from the start (large negative bias, bad weights) or since one "
            "step that was too long. A layer that is dead as a whole cuts the model in two.",
        remedies=(
            "initialise the dead layer again, with small biases",
            "lower the learning rate, or clip gradients, if the units died during training",
            "a leaky ReLU keeps a slope, but does not revive a unit whose bias is far below zero",
        ),
        source="Lu et al. 2020 (Dying ReLU and initialization), arXiv 1903.06733; Maas et al. 2013",
        prediction=Prediction("fresh-init", "with the dead layer initialised again the loss falls"),
    ),
    Cause(
        "missing-nonlinearity", "activation",
        title="nothing between two linear layers",
        meaning="Linear layers follow each other with nothing between, so together they are one linear layer.",
        why="The product of matrices is a matrix. However deep, such a stack can only draw straight boundaries.",
        remedies=(
            "put an activation (ReLU, GELU, tanh) between the layers",
        ),
        source="Goodfellow et al. 2016, section 6.1: a linear model cannot represent XOR",
        prediction=Prediction(
            "add-activation",
            "with ReLU between the layers the loss falls below that of the linear model",
        ),
    ),
    Cause(
        "vanishing-gradients", "activation",
        title="vanishing gradients",
        meaning="The gradient shrinks by many orders of magnitude on its way to the input layers.",
        why="Each layer multiplies it by a factor below 1 (at most 0.25 for a sigmoid), as does each time step of a "
            "recurrent net. The first layers hardly move; with SGD the net stays where it began.",
        remedies=(
            "use ReLU or GELU with He initialisation in place of sigmoid or tanh",
            "add residual connections or normalisation layers",
            "through time: LSTM or GRU with a forget bias above 0, an orthogonal recurrent matrix, shorter sequences",
        ),
        source="Hochreiter 1991; Bengio et al. 1994; He et al. 2016 (residual networks)",
        prediction=Prediction("plain-activation", "with ReLU and a fitting initialisation the loss falls"),
    ),
    Cause(
        "exploding-gradients", "activation",
        title="exploding gradients",
        meaning="The gradient grows by many orders of magnitude towards the input layers, or over time.",
        why="Each layer or time step multiplies it by a factor above 1. Steps become huge, the loss jumps or turns "
            "NaN.",
        remedies=(
            "initialise with smaller weights (orthogonal or identity for recurrent matrices)",
            "clip the gradient norm near its usual value",
            "lower the learning rate",
        ),
        source="Pascanu et al. 2013, arXiv 1211.5063",
        prediction=Prediction(
            "fresh-init",
            "from a standard initialisation gradients stay in range and the loss falls",
        ),
    ),
]
