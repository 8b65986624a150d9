"""Causes in the state before the first step."""

from whyloss.cause import Cause, Prediction

CAUSES = [
    Cause(
        "symmetric-initialisation", "init",
        title="equal units",
        meaning="The units of a layer start equal and get equal gradients, so they stay equal.",
        why="A constant initialisation makes a layer of any width behave like a single unit: the loss falls a little "
            "and stops.",
        remedies=(
            "draw the weights at random (`kaiming_normal_` or `xavier_uniform_`); only biases may be constant",
        ),
        source="Goodfellow et al. 2016, section 8.4: initial parameters must break the symmetry between units",
        prediction=Prediction("fresh-init", "from a random initialisation the loss ends lower"),
    ),
    Cause(
        "zero-initialisation", "init",
        title="all weights zero",
        meaning="Weights are all zero in such a way that no gradient can ever reach them.",
        why="Two zero factors in a row multiply each other's gradient by zero. A single zero layer, such as LoRA's B "
            "or a residual gate, can move and is no fault.",
        remedies=(
            "draw the weights at random",
            "in a low-rank adapter start only one of the two factors at zero",
        ),
        source="Goodfellow et al. 2016, section 8.4; Hu et al. 2021 (LoRA) for the healthy case",
        prediction=Prediction("fresh-init", "from a random initialisation the loss falls"),
    ),
    Cause(
        "initial-weights-too-large", "init",
        title="initial weights too large",
        meaning="Activations or logits explode, or saturate, in the first forward pass.",
        why="The signal is multiplied by more than 1 in each layer. The first loss lies far above that of guessing, "
            "and training spends itself on undoing the start.",
        remedies=(
            "use He initialisation for ReLU and Glorot initialisation for tanh or sigmoid",
            "scale the last layer down so that the first logits are of order 1",
            "put a normalisation layer between",
        ),
        source="He et al. 2015; Glorot and Bengio 2010; first loss of a uniform guess: log C",
        prediction=Prediction(
            "fresh-init",
            "from a standard initialisation the loss starts near chance and ends lower",
        ),
    ),
    Cause(
        "initial-weights-too-small", "init",
        title="initial weights too small",
        meaning="The signal vanishes with depth in the first forward pass.",
        why="Each layer shrinks it, until the last ones see the same for every sample. The output is constant, and "
            "what gradient is left is too small to move the first layers.",
        remedies=(
            "use He initialisation for ReLU and Glorot initialisation for tanh or sigmoid",
            "add residual connections or normalisation layers to a deep stack",
        ),
        source="He et al. 2015; Schoenholz et al. 2017 (deep information propagation)",
        prediction=Prediction("fresh-init", "from a standard initialisation the signal arrives and the loss falls"),
    ),
    Cause(
        "pretrained-weights-not-loaded", "init",
        title="checkpoint not loaded",
        meaning="The weights are those of a fresh initialisation where a checkpoint was meant.",
        why="`strict=False` hides names that match nothing (a `module.` prefix is enough), and a layer that is "
            "initialised again after loading loses what it had.",
        remedies=(
            "look at the missing and unexpected keys that `load_state_dict` returns",
            "load with `strict=True`",
            "load after the last initialisation",
        ),
        source="PyTorch documentation, Module.load_state_dict",
    ),
]
