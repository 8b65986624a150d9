"""Causes where loss, output and target do not fit each other."""

from whyloss.cause import Cause, Prediction
from whyloss.causes.predictions import shown, shown_or_wins

CAUSES = [
    Cause(
        "softmax-before-cross-entropy", "loss",
        title="softmax applied twice",
        meaning="Probabilities go into a cross-entropy that applies softmax itself.",
        why="The second softmax sees values between 0 and 1 only, so even a perfect output keeps a loss of log(1 + "
            "(C-1)/e): 1.46 for 10 classes. Gradients are small and learning is slow.",
        remedies=(
            "return logits: remove the softmax at the end of the model",
            "apply softmax only where probabilities are shown",
        ),
        source="PyTorch documentation, CrossEntropyLoss: the input holds unnormalised logits",
        prediction=Prediction(
            "logits-to-loss",
            "with the logits given to the loss, it falls below the floor of the doubled softmax",
        ),
    ),
    Cause(
        "nll-without-log-softmax", "loss",
        title="NLL without log-softmax",
        meaning="`nll_loss` is given logits or probabilities in place of log-probabilities.",
        why="NLL only picks an entry and negates it. With logits the loss falls without bound by growing one number; "
            "with probabilities it ends at -1 and the gradient does not push where it should.",
        remedies=(
            "put `log_softmax` in front of `nll_loss`",
            "use `cross_entropy` on the logits",
        ),
        source="PyTorch documentation, NLLLoss: the input holds log-probabilities",
        prediction=Prediction("log-softmax-to-loss", "with log-probabilities the same batches are classified right"),
    ),
    Cause(
        "sigmoid-before-bce-with-logits", "loss",
        title="sigmoid applied twice",
        meaning="The output of a sigmoid goes into a loss that applies the sigmoid itself.",
        why="The loss sees logits between 0 and 1, so its probabilities lie between 0.5 and 0.73: the negative class "
            "can never be predicted with confidence and the loss keeps a high floor.",
        remedies=(
            "remove the sigmoid at the end of the model",
            "use `binary_cross_entropy` on the probabilities (less stable)",
        ),
        source="PyTorch documentation, BCEWithLogitsLoss combines the sigmoid and the loss",
        prediction=Prediction("logits-to-loss", "with the logits given to the loss, it falls further"),
    ),
    Cause(
        "bce-on-logits", "loss",
        title="BCE on unbounded values",
        meaning="`binary_cross_entropy` is given values that are not probabilities.",
        why="The logarithm needs an input between 0 and 1. Values outside raise an error, or were clamped before, and "
            "a clamped entry has no gradient.",
        remedies=(
            "use `binary_cross_entropy_with_logits`",
            "put a sigmoid in front",
        ),
        source="PyTorch documentation, BCELoss",
        prediction=Prediction("logits-to-loss", "with the raw output given to a loss that takes it, the loss falls further"),
    ),
    Cause(
        "softmax-over-wrong-dimension", "loss",
        title="softmax over the wrong axis",
        meaning="The output is normalised over the batch, time or another axis, not over the classes.",
        why="The samples of a batch then compete with each other: the first loss is the log of the batch size rather "
            "than of the number of classes, and the loss keeps a floor although accuracy can look right.",
        remedies=(
            "name the class axis: `dim=1` for (batch, classes), `dim=-1` for (batch, time, classes)",
        ),
        source="PyTorch documentation, torch.softmax: sums to 1 along dim",
        prediction=Prediction("logits-to-loss", "normalised over the classes, the loss falls below its floor; or, for weights inside the model, "
                              "one sample changes the outputs of others", shown_or_wins),
    ),
    Cause(
        "softmax-over-one-element", "loss",
        title="softmax of one number",
        meaning="Softmax or cross-entropy works on an axis of size 1, so its result is constant.",
        why="The softmax of a single value is 1 whatever the value. The output does not depend on the model and no "
            "gradient flows.",
        remedies=(
            "use a sigmoid with `binary_cross_entropy_with_logits` for one output",
            "use two outputs with `cross_entropy`",
        ),
        source="definition of softmax: exp(z)/exp(z) = 1",
        prediction=Prediction(
            "logits-to-loss",
            "with the single logit and a sigmoid loss the same batches are learned",
        ),
    ),
    Cause(
        "output-width-mismatch", "loss",
        title="wrong number of outputs",
        meaning="The number of outputs does not fit the number of classes or targets.",
        why="Too few outputs cannot name every class. Too many leave classes that never occur, or a time axis that is "
            "taken for classes.",
        remedies=(
            "give the last layer one output per class (or one per target)",
        ),
        source="definition of the loss: one score per class",
    ),
    Cause(
        "loss-does-not-fit-task", "loss",
        title="loss of another task",
        meaning="The loss belongs to another kind of target: squared error on class ids, cross-entropy on numbers.",
        why="Squared error on ids says that class 3 lies between 2 and 4; binary cross-entropy with ids above 1 falls "
            "below zero without bound. The model minimises something that is not the task.",
        remedies=(
            "one of several classes: C outputs with `cross_entropy`",
            "yes or no, each for itself: `binary_cross_entropy_with_logits` with targets 0 and 1",
            "numbers: `mse_loss`, `l1_loss` or `huber_loss`",
        ),
        source="Goodfellow et al. 2016, section 6.2.2: output units go with their loss",
        prediction=Prediction("class-scores", "with one score per class far more samples are right, and the chosen class is closer", shown),
    ),
    Cause(
        "loss-broadcasts", "loss",
        title="loss compares every pair",
        meaning="Prediction and target are broadcast against each other, so every prediction meets every target.",
        why="(N, 1) against (N,) becomes (N, N). The best answer to all targets at once is their mean, so the loss "
            "stops at the variance of the targets and the prediction is constant.",
        remedies=(
            "give both the same shape: `prediction.squeeze(-1)` or `target.unsqueeze(-1)`",
            "do not silence the warning that `mse_loss` gives about sizes",
        ),
        source="PyTorch documentation, broadcasting semantics; minimum of the broadcast squared error is var(y)",
        prediction=Prediction("same-shape", "with equal shapes the loss falls below the variance of the targets"),
    ),
    Cause(
        "loss-sign-flipped", "loss",
        title="loss with the wrong sign",
        meaning="The objective is maximised: a minus sign, `maximize=True` or a negative learning rate.",
        why="Each step goes uphill. The number that is shown may fall without bound while accuracy falls to nothing.",
        remedies=(
            "remove the minus in front of the loss",
            "drop `maximize=True` or the negative learning rate",
        ),
        source="definition of gradient descent",
        prediction=Prediction("flip-sign", "with the sign turned the same batches are learned"),
    ),
    Cause(
        "loss-reduction-scale", "loss",
        title="loss reduced to the wrong scale",
        meaning="The loss is a sum where a mean was meant, or is divided by the wrong size.",
        why="The gradient grows with the batch (or with the number of elements), which is the same as a learning rate "
            "that is that many times too high, or too low.",
        remedies=(
            "use `reduction='mean'`",
            "divide the sum by the number of samples or tokens",
            "if the sum is meant, divide the learning rate by that number",
        ),
        source="loss of a doubled batch: unchanged for a mean, twice as large for a sum",
        prediction=Prediction("mean-reduction", "with the mean, at the same learning rate, the loss falls"),
    ),
    Cause(
        "loss-terms-unbalanced", "loss",
        title="one loss term drowns the rest",
        meaning="One term of the loss outweighs the others by its scale, so only that one is minimised.",
        why="Gradients of the small terms are lost in those of the large one. In a VAE a heavy KL term empties the "
            "latent code: posterior collapse.",
        remedies=(
            "weight the terms so that their gradients have comparable norms",
            "warm the KL weight up from 0",
            "use the same reduction (mean or sum, over the same axes) in every term",
        ),
        source="Bowman et al. 2016 (KL annealing); Chen et al. 2018 (GradNorm)",
        prediction=Prediction("balance-terms", "with gradients of one size the term that stood still falls", shown),
    ),
    Cause(
        "targets-out-of-reach", "loss",
        title="targets out of reach",
        meaning="The range of the output cannot reach the targets.",
        why="A sigmoid ends at 0 and 1, a ReLU at 0, a tanh at -1 and 1. Targets beyond that leave a loss that no "
            "weights can remove, and units pressed against the edge lose their gradient.",
        remedies=(
            "make the last layer linear",
            "scale the targets into the range of the output",
        ),
        source="floor of the loss over all outputs in range, computed on the batch",
        prediction=Prediction("logits-to-loss", "with a linear output the loss falls below the floor of the range"),
    ),
    Cause(
        "activation-on-logits", "loss",
        title="activation after the last layer",
        meaning="A ReLU or another activation stands between the last layer and the classification loss.",
        why="ReLU cuts all negative scores to 0: several classes share the score 0 and get no gradient, some for good.",
        remedies=(
            "give the output of the last linear layer to the loss as it is",
        ),
        source="PyTorch documentation, CrossEntropyLoss: the input is unbounded logits",
        prediction=Prediction("logits-to-loss", "without the activation the loss falls further"),
    ),
    Cause(
        "representation-collapse", "loss",
        title="all embeddings are equal",
        meaning="Every input is mapped to the same embedding, and the loss sits at its value for equal distances.",
        why="Equal embeddings are a resting point of many metric and self-supervised losses: ln 2 for a logistic pair "
            "loss, the margin for a triplet loss. Gradients there are close to zero.",
        remedies=(
            "use semi-hard rather than hardest negatives at the start",
            "lower the learning rate",
            "keep the stop-gradient or the variance term that prevents collapse",
        ),
        source="Schroff et al. 2015 (FaceNet); Chen and He 2021 (SimSiam)",
    ),
    Cause(
        "negatives-missing", "loss",
        title="wrong contrastive partners",
        meaning="The partners of a contrastive loss are wrong: no negatives, or positives counted as negatives.",
        why="Without true negatives the best answer is a constant embedding; with wrong positives, similar samples "
            "are driven apart.",
        remedies=(
            "check the pair matrix: exactly the positives on their places, everything else negative",
            "gather the embeddings of all ranks before the loss",
        ),
        source="van den Oord et al. 2018 (InfoNCE); Chen et al. 2020 (SimCLR)",
    ),
]
