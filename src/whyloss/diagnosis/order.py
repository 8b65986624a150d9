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
          "wiring", "wiring", "wiring", "loss-curve table of the diagnostics essay"),
    Stage("wiring", "does every call reach what it should?", "loop, optimizer and graph are connected as meant", "the one-line repair, on a copy",
          "start", "end", "start", ".grad table of the essay; identities and call order"),
    Stage("start", "is the first loss what guessing gives, for THIS loss and THESE labels?", "forward pass and loss are wired as intended", "the repaired loss, on a copy",
          "memorise", "end", "memorise", "CS231n: log C; the entropy of the labels for skewed classes"),
    Stage("memorise", "can the captured step memorise ten examples, dropout and weight decay off?", "the mechanics work; what is left is data and tuning", "overfit",
          "learning-rate", "initialisation", "learning-rate", "the recipe's step 1; Karpathy 2019"),
    Stage("learning-rate", "does ten times more or less change the curve for the better?", "the size of the step is not the bottleneck", "lr-decades, lr-range, lr-decay",
          "initialisation", "end", "initialisation", "the recipe's step 2; Smith 2017"),
    Stage("initialisation", "is the state before step 0 degenerate: saturated, zero, symmetric?", "the first forward pass carries a signal", "fresh-init",
          "data", "end", "data", "the recipe's step 3; Glorot 2010, He 2015"),
    Stage("data", "do labels belong to inputs? leaks, constant inputs, scales, train against eval", "the pairs carry what is to be learned", "label-permutation, repaired input",
          "shapes", "end", "shapes", "the recipe's step 4"),
    Stage("shapes", "does each sample stay itself, does each axis mean what the layer thinks, does anything broadcast?", "every axis is what the layer takes it for", "batch-dependence",
          "gradients", "end", "gradients", "the recipe's step 5"),
    Stage("gradients", "always exactly zero, or shrinking, or growing, and where?", "the gradient reaches every layer at a usable size", "remedy on a copy",
          "numerics", "end", "numerics", "the recipe's step 6; Pascanu 2013"),
    Stage("numerics", "which operation made the first non-finite value?", "every number is a number", "replay from the last good state",
          "generalisation", "end", "generalisation", "the recipe's step 7"),
    Stage("generalisation", "train against validation: overfit, underfit, or converged?", "what is left is capacity and data", "wider-model",
          "end", "end", "end", "the essay's plateau trap; table of curve pairs"),
]
BY_NAME = {stage.name: stage for stage in STAGES}
