"""The fixed order, as a table: cheapest and most isolating first."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """One row of the order.

    on_healthy, on_finding, on_unexamined  name of the next stage; "end" ends the walk
    """

    name: str
    question: str
    isolates: str
    experiment: str
    on_healthy: str
    on_finding: str
    on_unexamined: str
    source: str


STAGES = [
    Stage("record", "what do the curves and the loop's calls say?", "which symptom there is to explain", "none: free",
          "wiring", "wiring", "wiring", "CS231n notes, babysitting the learning process"),
    Stage("wiring", "does every call reach what it should?", "loop, optimizer and graph are connected as meant", "the one-line repair, on a copy",
          "ranks", "end", "ranks", "identities of tensors and the order of calls: facts, no statistics"),
    Stage("ranks", "do the processes train one model, on different samples?", "every rank holds the same weights and sees its own share of the data",
          "none: the ranks' own numbers are compared", "start", "end", "start",
          "PyTorch documentation, DistributedDataParallel: replicas start equal and get equal gradients"),
    Stage("start", "is the first loss what guessing gives, for THIS loss and THESE labels?", "forward pass and loss are wired as intended",
          "the repaired loss, on a copy", "memorise", "end", "memorise", "CS231n: log C; the entropy of the labels for skewed classes"),
    Stage("memorise", "can the captured step memorise ten examples, dropout and weight decay off?",
          "the mechanics work; what is left is data and tuning", "overfit", "learning-rate", "initialisation", "learning-rate",
          "Karpathy 2019, A Recipe for Training Neural Networks: overfit one batch"),
    Stage("learning-rate", "does ten times more or less change the curve for the better?", "the size of the step is not the bottleneck",
          "lr-decades, lr-range, lr-decay", "initialisation", "end", "initialisation",
          "Smith 2017, arXiv 1506.01186 (range test); a control arm decides"),
    Stage("initialisation", "is the state before step 0 degenerate: saturated, zero, symmetric?", "the first forward pass carries a signal",
          "fresh-init", "data", "end", "data", "Glorot and Bengio 2010; He et al. 2015"),
    Stage("data", "do labels belong to inputs? leaks, constant inputs, scales, train against eval", "the pairs carry what is to be learned",
          "label-permutation, repaired input", "shapes", "end", "shapes", "Northcutt et al. 2021 (label errors); Kaufman et al. 2012 (leakage)"),
    Stage("shapes", "does each sample stay itself, does each axis mean what the layer thinks, does anything broadcast?",
          "every axis is what the layer takes it for", "batch-dependence", "gradients", "end", "gradients",
          "gradient of one sample's output to another's input: exact"),
    Stage("gradients", "always exactly zero, or shrinking, or growing, and where?", "the gradient reaches every layer at a usable size",
          "remedy on a copy", "numerics", "end", "numerics", "Pascanu et al. 2013; Hochreiter 1991"),
    Stage("numerics", "which operation made the first non-finite value?", "every number is a number", "replay from the last good state",
          "generalisation", "end", "generalisation", "the first non-finite operation, found from the sink back"),
    Stage("generalisation", "train against validation: overfit, underfit, or converged?", "what is left is capacity and data", "wider-model",
          "end", "end", "end", "Goodfellow et al. 2016, chapter 11; bias and variance read off curve pairs"),
]
BY_NAME = {stage.name: stage for stage in STAGES}
