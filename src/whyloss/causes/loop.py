"""Causes in the training loop: which calls are made, in which order, on which objects."""

from whyloss.cause import Cause, Prediction
from whyloss.causes.predictions import wins_or_halves, wins_where_between

CAUSES = [
    Cause(
        "backward-never-called", "loop",
        title="no backward pass",
        meaning="A loss is computed in every step, but no gradient is ever asked for.",
        why="Without `loss.backward()` (or `autograd.grad`) every `.grad` stays None. The optimizer skips parameters "
            "whose gradient is None without a word, so the loop runs and the weights stay as they were.",
        remedies=(
            "call `loss.backward()` after the loss is computed and before `optimizer.step()`",
        ),
        source="PyTorch documentation, torch.optim: parameters with a gradient of None are skipped",
        prediction=Prediction(
            "step-after-backward",
            "with a backward pass and a step after each loss, the same batches are learned",
        ),
    ),
    Cause(
        "step-never-called", "loop",
        title="no optimizer step",
        meaning="Gradients arrive, but the optimizer never applies them.",
        why="`backward()` only fills `.grad`; the weights change in `optimizer.step()`. If that call is missing, sits "
            "in a branch that is never taken, or was replaced by the scheduler's `step()`, nothing is learned.",
        remedies=(
            "call `optimizer.step()` after `loss.backward()`",
            "check that the branch with the step is reached (accumulation counter, `if step > warmup`)",
        ),
        source="PyTorch documentation, torch.optim: taking an optimization step",
        prediction=Prediction("step-after-backward", "with a step after each backward the same batches are learned"),
    ),
    Cause(
        "gradients-not-cleared", "loop",
        title="gradients pile up",
        meaning="Gradients of earlier steps, or of another loss, are still there when a new backward adds to them.",
        why="`backward()` adds to `.grad`. Without clearing, each step follows the sum of all gradients so far, which "
            "acts like momentum that never decays: the loss oscillates or diverges, with Adam it just learns worse.",
        remedies=(
            "call `optimizer.zero_grad()` once per step, before `backward()`",
            "clear the gradients of all parameters that any backward reaches, not only those of one optimizer",
        ),
        source="PyTorch documentation, zeroing out gradients; healthy accumulation clears after each step it takes",
        prediction=Prediction("clear-gradients", "with gradients cleared before each backward the loss ends lower"),
    ),
    Cause(
        "gradients-discarded", "loop",
        title="gradients cleared too early",
        meaning="Gradients are cleared after the backward pass and before the step that should use them.",
        why="With `zero_grad()` between `backward()` and `step()` the optimizer finds nothing to apply. An "
            "accumulation window that is cut short loses its gradients in the same way.",
        remedies=(
            "move `optimizer.zero_grad()` in front of `loss.backward()`, or behind `optimizer.step()`",
            "step on the last, incomplete accumulation window instead of clearing it",
        ),
        source="PyTorch documentation, torch.optim: order of zero_grad, backward and step",
        prediction=Prediction("keep-gradients", "with the clearing moved behind the step the loss falls"),
    ),
    Cause(
        "stale-optimizer-parameters", "loop",
        title="optimizer of another model",
        meaning="The optimizer holds tensors that the model in training does not have.",
        why="An optimizer keeps the parameter objects it was given. If the model is built again, copied or wrapped "
            "with new parameters afterwards, the step updates the old ones, which nobody uses any more.",
        remedies=(
            "create the optimizer last, from the model that is trained",
            "after rebuilding or copying the model, create the optimizer (and its scheduler) again",
        ),
        source="PyTorch documentation, torch.optim: constructing an optimizer; parameters are compared by identity",
        prediction=Prediction(
            "fresh-optimizer",
            "a new optimizer with the same settings, over the parameters of the model in use, lets the loss fall",
        ),
    ),
    Cause(
        "parameters-not-in-optimizer", "loop",
        title="parameters outside the optimizer",
        meaning="Some trainable parameters of the model are in no parameter group of any optimizer.",
        why="They receive gradients and stay at their initial values. Typical: a head that was replaced after the "
            "optimizer was created, or a second module whose parameters were not passed on.",
        remedies=(
            "pass all parameters that should train to the optimizer",
            "after replacing a layer, use `optimizer.add_param_group` or create the optimizer again",
            "set `requires_grad=False` on what should stay fixed, so that the intention is visible",
        ),
        source="PyTorch documentation, Optimizer.add_param_group",
        prediction=Prediction("fresh-optimizer", "an optimizer over all trainable parameters reaches a lower loss",
                              wins_where_between),
    ),
    Cause(
        "modules-not-registered", "loop",
        title="layers in a plain list",
        meaning="Layers used in the forward pass live in a Python list or dict, so `parameters()` does not see them.",
        why="Only attributes that are modules, `ModuleList` or `ModuleDict` are registered. Layers in a plain "
            "container are not trained, not moved to the device and not saved.",
        remedies=(
            "use `nn.ModuleList` or `nn.ModuleDict` in place of the list or dict",
            "use `nn.ParameterList` for bare parameters",
        ),
        source="PyTorch documentation, torch.nn.ModuleList",
        prediction=Prediction(
            "fresh-optimizer",
            "an optimizer that also holds the layers of the list reaches a lower loss",
        ),
    ),
    Cause(
        "update-does-not-land", "loop",
        title="update goes to a copy",
        meaning="New values are computed, but bound to a new name or written to a copy; the model keeps the old ones.",
        why="`w = w - lr * g` creates a tensor and leaves the parameter alone, and so does an update of "
            "`state_dict()` clones. The update must happen in place, on the parameter object itself.",
        remedies=(
            "update in place under `torch.no_grad()`: `w -= lr * w.grad`",
            "use an optimizer of torch.optim",
            "load changed values back with `load_state_dict` or `copy_`",
        ),
        source="PyTorch documentation, in-place semantics and torch.no_grad",
        prediction=Prediction(
            "step-after-backward",
            "with an optimizer that updates in place, at the same rate, the loss falls",
        ),
    ),
    Cause(
        "learning-rate-zero", "loop",
        title="learning rate of zero",
        meaning="The optimizer steps with a learning rate of exactly 0.",
        why="The rate was set to 0, a warm-up starts there and is never advanced, or a lambda schedule returns 0. "
            "Every step then changes nothing.",
        remedies=(
            "set the learning rate of the group",
            "advance the warm-up: call `scheduler.step()`",
            "look at `optimizer.param_groups[i]['lr']` right before the step",
        ),
        source="definition of the update: step = learning rate x direction",
        prediction=Prediction("raise-learning-rate", "with a usual learning rate the same batches are learned"),
    ),
    Cause(
        "scheduler-collapses-learning-rate", "loop",
        title="schedule ends too early",
        meaning="The schedule drives the learning rate to next to nothing long before training is over.",
        why="Most often a schedule written in epochs is stepped once per batch, or its total number of steps is "
            "wrong. Learning is normal at first and freezes when the rate has collapsed.",
        remedies=(
            "step the scheduler in the unit it was written for: once per epoch for periods in epochs",
            "give the schedule the true number of optimizer steps (accumulation and epochs counted)",
        ),
        source="PyTorch documentation, torch.optim.lr_scheduler: how to adjust the learning rate",
        prediction=Prediction(
            "constant-learning-rate",
            "at the first learning rate, kept constant, the loss goes on falling",
            wins_or_halves,
        ),
    ),
    Cause(
        "scheduler-misordered", "loop",
        title="scheduler out of order",
        meaning="The scheduler steps before the optimizer does, or never.",
        why="Called before the first optimizer step it skips the first value of the schedule; never called it leaves "
            "the rate at the start of the warm-up or without its decay.",
        remedies=(
            "call `scheduler.step()` after `optimizer.step()`",
            "call it in every step or epoch, not under a condition that is never true",
        ),
        source="PyTorch documentation, torch.optim.lr_scheduler: scheduler.step() after optimizer.step()",
        prediction=Prediction(
            "constant-learning-rate",
            "with the rate that the schedule should give, the loss falls further",
        ),
    ),
    Cause(
        "setting-not-applied", "loop",
        title="setting not applied",
        meaning="The learning rate, or another setting that was asked for, is not the one the optimizer uses.",
        why="A value was changed after the optimizer was built, was overwritten by a loaded state or the scheduler, "
            "or was given to the wrong group. The run then is not the experiment it is taken for.",
        remedies=(
            "set the value in `optimizer.param_groups`",
            "set it after `optimizer.load_state_dict`, which brings back the saved values",
            "print the groups once before training",
        ),
        source="PyTorch documentation, Optimizer.load_state_dict restores param_groups",
        prediction=Prediction("asked-rate", "at the rate that was asked for the loss falls further"),
    ),
    Cause(
        "gradients-clipped-away", "loop",
        title="clipping removes the gradient",
        meaning="Gradient clipping leaves next to nothing of the gradient in every step.",
        why="With a limit far below the usual norm each step is cut to a tiny length. Clipping is meant for the rare "
            "large step, not for all of them.",
        remedies=(
            "raise the limit to about the usual gradient norm, or above it",
            "remove the clipping and look at the norm that `clip_grad_norm_` returns",
        ),
        source="Pascanu et al. 2013: a threshold near the average norm over many updates",
        prediction=Prediction("without-clipping", "without clipping the loss falls further"),
    ),
    Cause(
        "clip-before-unscale", "loop",
        title="clipped while scaled",
        meaning="Clipping acts on gradients that are still multiplied by the loss scale.",
        why="The limit is compared with a norm that is tens of thousands of times too large; after unscaling, almost "
            "nothing of the gradient is left.",
        remedies=(
            "call `scaler.unscale_(optimizer)` before clipping",
        ),
        source="PyTorch documentation, automatic mixed precision examples: gradient clipping",
        prediction=Prediction("without-clipping", "without the misplaced clipping the loss falls"),
    ),
    Cause(
        "accumulation-not-normalised", "loop",
        title="accumulated sum instead of mean",
        meaning="The gradients of k accumulated micro-batches are added without dividing by k.",
        why="The step is k times as long as that of one large batch. With SGD this is a learning rate k times higher; "
            "clipping and weight decay change their meaning with it.",
        remedies=(
            "divide each loss by the number of accumulated micro-batches",
            "for token losses divide by the tokens of the whole window",
        ),
        source="PyTorch documentation, automatic mixed precision examples: gradient accumulation",
        prediction=Prediction("average-accumulated", "with each loss divided by k the same batches end lower"),
    ),
    Cause(
        "eval-mode-while-training", "loop",
        title="training in eval mode",
        meaning="The model, or a part of it that should not be, is in eval mode while it is trained.",
        why="After validation `train()` was not called again. Dropout is off and batch normalisation neither uses nor "
            "updates batch statistics, so training differs from what was designed, often without an error in the "
            "curve.",
        remedies=(
            "call `model.train()` at the start of every training epoch",
            "let the validation function restore the mode it found",
        ),
        source="PyTorch documentation, Module.eval and Module.train",
        prediction=Prediction("train-mode", "in training mode the same batches are learned better"),
    ),
    Cause(
        "train-mode-while-evaluating", "loop",
        title="evaluating in train mode",
        meaning="Dropout or batch statistics are active while the model is evaluated.",
        why="Dropout makes the metric random and too low; batch normalisation mixes the validation samples and even "
            "updates its running statistics with them.",
        remedies=(
            "call `model.eval()` before evaluating and `model.train()` after",
            "`torch.no_grad()` does not switch the mode: both are needed",
        ),
        source="PyTorch documentation, Module.eval",
    ),
    Cause(
        "graph-kept-alive", "loop",
        title="graphs kept alive",
        meaning="Loss tensors, or a state, are kept together with their graph, so memory or time grows with every "
                "step.",
        why="`total += loss` keeps the whole history of every step reachable; a hidden state carried over without "
            "`detach()` makes each backward longer than the one before.",
        remedies=(
            "add `loss.item()` or `loss.detach()`",
            "detach the carried state between chunks",
            "evaluate under `torch.no_grad()`",
        ),
        source="PyTorch documentation, frequently asked questions: memory and history",
    ),
    Cause(
        "forward-outside-loop", "loop",
        title="prediction computed once",
        meaning="The prediction is computed once, outside the loop, and its graph is used again in every step.",
        why="The loss is then that of the first weights: it never changes, and the gradient stays that of the start, "
            "although the weights move.",
        remedies=(
            "call the model inside the loop, in every step",
            "drop `retain_graph=True`, which only hides the error that points here",
        ),
        source="PyTorch documentation, torch.autograd.backward: retain_graph is hardly ever needed",
        prediction=Prediction("recompute-forward", "with a forward pass in each step the loss falls"),
    ),
    Cause(
        "step-inside-autocast", "loop",
        title="backward inside autocast",
        meaning="The backward pass, or the optimizer step, runs inside the autocast region.",
        why="Autocast is meant for forward pass and loss only. Backward operations already run in the type that their "
            "forward used; inside the region further casts happen, and an update loses precision.",
        remedies=(
            "close the `autocast` block before `backward()`",
        ),
        source="PyTorch documentation, torch.amp: backward passes under autocast are not recommended",
    ),
    Cause(
        "metric-wrong", "loop",
        title="the metric is wrong",
        meaning="Training works; the number that is shown is not what it claims to be.",
        why="A comparison of (N, 1) with (N,) counts N x N pairs, argmax over a single logit is always 0, and some "
            "trainers replace NaN in what they log. The curve then tells about the metric, not about the model.",
        remedies=(
            "compute the metric by hand on ten samples and compare",
            "compare tensors of the same shape",
            "use a threshold, not argmax, for a single logit",
        ),
        source="rule of thumb: check the measure before the model",
    ),
]
