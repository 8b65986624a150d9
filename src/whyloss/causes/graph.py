"""Causes in the graph: the path from the loss back to the parameters."""

from whyloss.cause import Cause, Prediction
from whyloss.causes.predictions import wrong_derivative

CAUSES = [
    Cause(
        "parameters-frozen", "graph",
        title="frozen parameters",
        meaning="Parameters have `requires_grad=False` where training was meant.",
        why="They get no gradient at all. A freeze that is meant for a while, or for another part of the model, is "
            "easily never undone; what is left cannot fit the data.",
        remedies=(
            "set `requires_grad_(True)` on the parts that should train",
            "pass the unfrozen parameters to the optimizer as well",
        ),
        source="PyTorch documentation, autograd mechanics: locally disabling gradient computation",
        prediction=Prediction("unfreeze", "with these parameters trainable the loss falls clearly lower"),
    ),
    Cause(
        "graph-detached", "graph",
        title="path to the parameters is cut",
        meaning="The path from the loss to some parameters is cut, so they get no gradient.",
        why="`detach()`, `.data`, `no_grad`, `.item()`, a way through NumPy or a tensor built from tensors gives "
            "values without history. Everything in front of the cut keeps its initial weights.",
        remedies=(
            "remove the cut; use `torch.stack` or `torch.cat` in place of `torch.tensor([...])`",
            "close the `no_grad` block before the part that should train",
        ),
        source="PyTorch documentation, autograd mechanics; the graph walk from loss.grad_fn shows what is reached",
        prediction=Prediction("attach-graph", "with the cut removed the gradient arrives and the loss falls"),
    ),
    Cause(
        "non-differentiable-operation", "graph",
        title="operation without a slope",
        meaning="An operation on the path to the loss has a derivative of zero, or none.",
        why="Rounding, sign and comparison are flat between their jumps; argmax and integer casts cut the graph. What "
            "lies in front of them gets a gradient of exactly 0, or none.",
        remedies=(
            "use a smooth stand-in: softmax for argmax, sigmoid for a comparison",
            "use a straight-through estimator",
        ),
        source="Bengio et al. 2013 (straight-through estimator), arXiv 1308.3432",
        prediction=Prediction("attach-graph", "with a straight-through gradient the loss falls"),
    ),
    Cause(
        "parameters-unused", "graph",
        title="layer never used",
        meaning="A layer with parameters is built, but takes no part in the forward pass.",
        why="A line in `forward` is missing, or uses another layer twice. The model that is trained is smaller than "
            "the one that was designed.",
        remedies=(
            "call the layer in `forward`",
            "remove it if it is left over",
        ),
        source="graph walk: the parameter is not among the leaves that the loss depends on",
    ),
    Cause(
        "loss-on-wrong-tensor", "graph",
        title="loss of the wrong tensor",
        meaning="The tensor that is differentiated does not depend on the model's output, or not on the part meant.",
        why="A loss built from the target, from an old output or from an auxiliary head falls or stays by itself; the "
            "output that is used later gets no gradient.",
        remedies=(
            "compute the loss from the output that is used for prediction",
            "add the losses of all heads that should train",
        ),
        source="graph walk: the output is not reachable from the loss",
        prediction=Prediction("right-tensor", "with the loss computed from the model's output, that output is learned"),
    ),
    Cause(
        "loss-term-without-gradient", "graph",
        title="loss term without gradient",
        meaning="One of several terms of the loss contributes no gradient.",
        why="The term is shown in the curve, but was detached, computed under `no_grad` or turned into a number. It "
            "is never minimised.",
        remedies=(
            "keep the term a tensor with history until it is added",
            "leave it out of the sum if it is only shown",
        ),
        source="PyTorch documentation, autograd mechanics",
    ),
    Cause(
        "custom-backward-wrong", "graph",
        title="backward does not fit forward",
        meaning="A hand-written backward gives another gradient than its forward has.",
        why="A wrong factor, a missing term or a sign sends every layer in front of it in a wrong direction, and the "
            "loss still may fall a little.",
        remedies=(
            "compare with `torch.autograd.gradcheck` in double precision",
            "leave the derivative to autograd where it can do it",
        ),
        source="PyTorch documentation, torch.autograd.gradcheck: finite differences in float64",
        prediction=Prediction("custom-gradient", "with the derivative that autograd finds for its forward the loss falls lower", wrong_derivative),
    ),
    Cause(
        "checkpoint-cuts-gradient", "graph",
        title="checkpointing cuts the gradient",
        meaning="Re-entrant activation checkpointing is given inputs of which none needs a gradient.",
        why="The re-entrant kind only builds a graph if an input requires one. With a frozen embedding in front, the "
            "layers inside the checkpoint get no gradient.",
        remedies=(
            "use `checkpoint(..., use_reentrant=False)`",
            "call `requires_grad_()` on the first input (`enable_input_require_grads` in Hugging Face models)",
        ),
        source="PyTorch documentation, torch.utils.checkpoint",
    ),
]
