"""The quantities whyloss observes: one definition each, with unit and when in the step it is taken."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Quantity:
    """What a number in the ledger means.

    subject  "run", "parameter", "module", "place" (file:line) or "group"
    cost     "free" (the loop's own calls), "sampled" (taken in captured steps), "experiment"
    """

    name: str
    unit: str
    subject: str
    definition: str
    cost: str = "free"
    aliases: tuple[str, ...] = ()
    source: str = ""


_TABLE = [
    Quantity("loss", "loss units", "run", "value of the tensor backward() is called on, before the optimizer step; unscaled under a GradScaler",
             aliases=("train_loss", "train/loss", "training_loss")),
    Quantity("val_loss", "loss units", "run", "mean of the loss over one evaluation phase", aliases=("eval_loss", "valid_loss", "val/loss")),
    Quantity("accuracy", "share 0..1", "run", "share of right argmax predictions in the captured batch", "sampled"),
    Quantity("learning_rate", "1", "group", "lr of an optimizer group when step() is called", aliases=("lr",)),
    Quantity("grad_norm", "loss per weight", "parameter", "L2 norm of .grad just before the step", "sampled"),
    Quantity("grad_state", "word", "parameter", "none, zero, finite, nan or inf: .grad after backward", "sampled"),
    Quantity("weight_norm", "weight units", "parameter", "L2 norm of the parameter before the step", "sampled"),
    Quantity("update_ratio", "1", "parameter", "norm of the true weight change of one step over the weight norm", "sampled",
             source="Karpathy's rule of thumb 1e-3, with the true change instead of lr x gradient"),
    Quantity("worker_randomness", "1", "run", "random numbers that the workers of a training loader have in common"),
    Quantity("recurrence", "1", "parameter", "time steps over which a square parameter multiplies its own result, and its mean singular value",
             "sampled"),
    Quantity("update_direction", "cosine", "run", "between the true change of all weights in one of the first steps and the gradient before it",
             "sampled"),
    Quantity("activation_std", "activation units", "module", "std over all entries of a module's output", "sampled"),
    Quantity("activation_mean", "activation units", "module", "mean over all entries of a module's output", "sampled"),
    Quantity("active_share", "share 0..1", "module", "share of a ReLU module's entries above 0", "sampled"),
    Quantity("gradient_missing", "0 or 1", "parameter", "1 where .grad was None at the optimizer's step", "sampled"),
    Quantity("signal", "activation units", "module", "mean over units of the std over samples: what of the input is left", "sampled",
             source="Schoenholz et al. 2017"),
    Quantity("dead_share", "share 0..1", "module", "share of ReLU units that are 0 for the whole batch", "sampled"),
    Quantity("saturated_share", "share 0..1", "module", "share of sigmoid or tanh outputs in their flat part (|tanh| > .97)", "sampled"),
    Quantity("batch_norm", "facts", "module", "a batch norm at the end: values a channel, momentum, how far its running statistics are from the "
             "last traced batches and from where they stood when the layer was frozen", "sampled"),
    Quantity("dropout", "rate and place", "module", "an active dropout call, of a module or functional", "sampled"),
    Quantity("unchanged_share", "share 0..1", "parameter",
             "share of half-precision entries with a gradient that a step left exactly as they were", "sampled"),
    Quantity("half_operations", "count", "run", "operations of a traced step that gave float16", "sampled"),
    Quantity("label_entropy", "nats", "run", "entropy of the labels of the captured batches: loss of the best constant prediction", "sampled"),
    Quantity("chance", "nats", "run", "log of the number of classes: loss of a uniform guess", "sampled"),
]

QUANTITIES: dict[str, Quantity] = {q.name: q for q in _TABLE}
