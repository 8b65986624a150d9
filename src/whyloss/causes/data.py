"""Causes in what is fed in: inputs, labels, and how they are paired."""

from whyloss.cause import Cause, Prediction
from whyloss.causes.predictions import shown, shown_or_wins_a_little

CAUSES = [
    Cause(
        "labels-misaligned", "data",
        title="labels of other samples",
        meaning="Labels do not belong to their inputs: shuffled, re-sorted or shifted against them.",
        why="Sorting or shuffling one of the two arrays, or a join on the wrong key, breaks the pairing. A net can "
            "still memorise such data, so training loss may fall while validation stays at chance.",
        remedies=(
            "shuffle and split inputs and labels with the same index",
            "compare ten pairs by eye after each step of the pipeline, to find where they part",
        ),
        source="Zhang et al. 2017, arXiv 1611.03530: random labels are memorised; permutation test of the pairing",
        prediction=Prediction(
            "label-permutation",
            "the labels fit their inputs no better than after a random permutation",
            shown,
        ),
    ),
    Cause(
        "label-noise", "data",
        title="wrong labels",
        meaning="A share of the labels is wrong.",
        why="The model learns the majority first and then spends its capacity on the wrong ones; training accuracy "
            "stays below validation accuracy if the validation labels are clean.",
        remedies=(
            "look at the samples with the highest loss",
            "clean or drop those that disagree with their neighbours",
            "stop early, or smooth the labels",
        ),
        source="Northcutt et al. 2021 (confident learning), arXiv 1911.00068",
        prediction=Prediction(
            "label-agreement", "with the same weights, rows of the evaluation are right clearly more often than training rows", shown),
    ),
    Cause(
        "label-maps-differ", "data",
        title="class ids differ between sets",
        meaning="Class ids mean different things in training and in validation.",
        why="Each set was numbered by itself, for example by the order of its folders. Training is fine and "
            "validation accuracy is at or below chance.",
        remedies=(
            "make one table of names to ids and use it for every set",
        ),
        source="confusion matrix: one clear class per row, off the diagonal",
        prediction=Prediction("relabel-validation", "with the classes renamed, rows not used to find the names are right", shown),
    ),
    Cause(
        "labels-corrupted", "data",
        title="values that are no labels",
        meaning="The labels hold values that are none: interpolated masks, ids out of range, nothing but ignored ones.",
        why="Resizing a mask with interpolation invents classes between classes; if every label is the ignored one, "
            "the loss is NaN or zero and no gradient comes.",
        remedies=(
            "resize masks with nearest-neighbour interpolation",
            "print the set of label values of some batches",
            "check that `ignore_index` is not a real class",
        ),
        source="PyTorch documentation, CrossEntropyLoss: ids from 0 to C-1, or ignore_index",
        prediction=Prediction("drop-bad-rows", "without these rows the loss falls and no longer jumps"),
    ),
    Cause(
        "single-class-batches", "data",
        title="batches of one class",
        meaning="Batches hold one class (or few) each, because the data are sorted and not shuffled.",
        why="Each stretch of batches teaches the class it holds and unteaches the others; the loss jumps whenever the "
            "class changes.",
        remedies=(
            "use `shuffle=True` in the training loader",
            "shuffle once before an iterable data set is written",
        ),
        source="Bottou 2012 (stochastic gradient descent tricks): shuffle the examples",
        prediction=Prediction(
            "shuffle-samples",
            "with the same samples mixed over the batches the loss over all classes ends lower",
        ),
    ),
    Cause(
        "class-imbalance", "data",
        title="only the majority is predicted",
        meaning="One class is so frequent that predicting it always is nearly the best constant answer.",
        why="Accuracy looks high from the start, the rare class contributes little gradient, and its recall stays "
            "near zero.",
        remedies=(
            "weight the loss by class",
            "sample the rare class more often",
            "judge by recall or average precision, not accuracy",
        ),
        source="He and Garcia 2009 (learning from imbalanced data)",
        prediction=Prediction("balanced-samples", "with balanced classes the rare class is found, which it never was before", shown),
    ),
    Cause(
        "constant-inputs", "data",
        title="inputs without information",
        meaning="Inputs are all zero, or equal for every sample.",
        why="An integer division, a cast or a wrong slice removed what was there. The best the model can do is the "
            "constant prediction, so the loss stops at the entropy of the labels.",
        remedies=(
            "look at a batch right before the model: minimum, maximum, standard deviation",
            "convert to float before dividing",
        ),
        source="exact: the standard deviation over samples is 0",
    ),
    Cause(
        "non-finite-inputs", "data",
        title="NaN in the data",
        meaning="Inputs or targets hold NaN or infinite values.",
        why="One such value makes the output, the loss and then every weight NaN in a single step.",
        remedies=(
            "drop or impute the rows named in the finding",
            "check the data once with `torch.isfinite(x).all()`",
            "mask missing targets before the loss, not after",
        ),
        source="IEEE 754: NaN spreads through arithmetic",
        prediction=Prediction("drop-bad-rows", "without these rows the loss stays finite"),
    ),
    Cause(
        "inputs-not-normalised", "data",
        title="inputs not normalised",
        meaning="The scale or offset of the inputs is far from what the model can use.",
        why="Raw pixels or prices make the first activations huge: units saturate or die, and no single learning rate "
            "fits all features.",
        remedies=(
            "subtract the mean and divide by the standard deviation of the training set, per feature or channel",
            "apply the same numbers to validation data",
        ),
        source="LeCun et al. 1998 (Efficient BackProp): inputs of mean 0 and equal variance",
        prediction=Prediction("normalise-inputs", "with standardised inputs the same batches are learned"),
    ),
    Cause(
        "targets-not-normalised", "data",
        title="targets not normalised",
        meaning="The scale of the targets swamps everything: they are far from what the output begins with.",
        why="With targets in the thousands the loss is huge and bounded steps (Adam) need ages to arrive; with SGD "
            "the gradients explode.",
        remedies=(
            "standardise the targets and undo it on the predictions",
            "start the last bias at their mean",
        ),
        source="Bishop 2006, on pre-processing; an Adam step is at most about the learning rate",
        prediction=Prediction("normalise-targets", "with standardised targets the share of variance left ends lower"),
    ),
    Cause(
        "train-eval-preprocessing-differs", "data",
        title="sets are prepared differently",
        meaning="Training and validation inputs do not go through the same preparation.",
        why="A missing division by 255, another mean or other channel order puts validation data where the model has "
            "never been. Training looks perfect, validation does not.",
        remedies=(
            "build both transforms from one function",
            "compare mean and standard deviation of both at the first layer",
        ),
        source="per-channel mean and spread of the first layer's input in both phases",
        prediction=Prediction("align-preparation", "prepared like the training inputs, the evaluation rows are answered clearly better", shown),
    ),
    Cause(
        "validation-leak", "data",
        title="training samples in validation",
        meaning="Samples of the training set, or near-copies, are also in the validation set.",
        why="A split after augmentation, duplicates, or frames of one video in both sets make validation measure "
            "memory instead of learning.",
        remedies=(
            "remove duplicates before splitting",
            "split by group: patient, user, video, time",
        ),
        source="Kapoor and Narayanan 2023 (leakage and reproducibility)",
    ),
    Cause(
        "target-leak", "data",
        title="an input carries the answer",
        meaning="A feature holds the label, or something that is only known after it.",
        why="The model reads the answer off and learns nothing else; loss falls to nearly 0 at once and the model "
            "fails where the feature is missing.",
        remedies=(
            "drop the feature named in the finding",
            "keep only what is known at prediction time",
        ),
        source="Kaufman et al. 2012 (leakage in data mining)",
        prediction=Prediction("without-column", "without the column the model does better on new rows, or learns far less", shown),
    ),
    Cause(
        "repeated-augmentation", "data",
        title="random transforms repeat",
        meaning="Random transforms draw the same numbers in every worker or every epoch.",
        why="Workers that inherit the same NumPy state, or a seed set inside the data set, repeat a small set of "
            "views; augmentation does less than it seems.",
        remedies=(
            "seed NumPy per worker in `worker_init_fn`",
            "draw with torch's generator",
            "do not seed inside `__getitem__`",
        ),
        source="PyTorch documentation, torch.utils.data: randomness in multi-process data loading",
    ),
    Cause(
        "output-ignores-input", "data",
        title="output does not depend on input",
        meaning="The output is the same, or changes in the same way, whatever the input is.",
        why="The input is overwritten, multiplied by zero, or lost on the way; the model learns the best constant and "
            "stops at the entropy of the labels.",
        remedies=(
            "follow the standard deviation over samples layer by layer to where it becomes 0",
            "check that `forward` uses its argument",
        ),
        source="exact test: outputs for exchanged inputs are equal",
        prediction=Prediction(
            "input-dependence",
            "exchanging the inputs of a copied batch leaves its outputs as they are",
            shown,
        ),
    ),
    Cause(
        "model-drops-information", "data",
        title="model discards what matters",
        meaning="The architecture or the preparation destroys what the label depends on.",
        why="Pooling over positions when position matters, cutting the sequence short, or down-scaling to nothing "
            "leaves samples of different classes equal.",
        remedies=(
            "test for pairs of samples with different labels and the same features at each stage",
            "keep the axis that the label depends on until the last layers",
        ),
        source="data processing inequality: what one stage loses no later one brings back",
        prediction=Prediction("align-columns", "with each column in one place the same batches are learned, or later steps are never read",
                              shown_or_wins_a_little),
    ),
]
