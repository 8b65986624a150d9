"""What the closure that an optimizer is given leaves in .grad: L-BFGS calls it several times inside of one step().

Between two calls the optimizer has moved the weights, and has used the gradient that it got. Backward passes at unmoved weights
belong to one call: the parts of a batch, several losses.
"""

import torch

from whyloss.sources import facts


class Closures:
    """Part of a Watch. Stages may begin inside of a step(), so it belongs to none."""

    def __init__(self, watch):
        self.watch = watch
        self.inside = None                   # the optimizer whose step(closure) runs
        self.held: dict[int, torch.Tensor] = {}
        self.calls: list[int] = []           # tensors with an old gradient in each call of the closure in this step
        self.written: dict[int, tuple] = {}  # tensor -> its version, and the gradient, after the last backward in a step
        self.place: str | None = None        # of the last backward
        self.event = None

    def before_step(self, optimizer, held, event) -> None:
        if self.inside is None or self.inside is optimizer:  # an exception may have ended an earlier step
            self.inside, self.event, self.held = optimizer, event, {id(p): p for p in held}
            self.calls, self.written = [], {}

    def before_backward(self, where) -> None:
        """Gradients from where the weights were before are used ones: called before Gradients looks for those."""
        self.place = where
        if self.inside is None:
            return
        moved = any(self.held[key]._version != version for key, (version, _) in self.written.items())
        if moved:
            consumed = self.watch.gradients.consumed
            consumed.update((key, grad) for key, (_, grad) in self.written.items() if grad is not None and self.held[key].grad is grad)
        if moved or not self.calls:
            self.calls.append(0)

    def after_backward(self) -> None:
        if self.inside is None or not self.calls:
            return
        if isinstance(self.inside, torch.optim.LBFGS):  # another kind may sum over several places on purpose
            self.written = {key: (p._version, p.grad) for key, p in self.held.items()}
        self.calls[-1] = len(self.watch.gradients.tainted & self.held.keys())

    def after_step(self, optimizer, where) -> None:
        if optimizer is not self.inside:
            return
        watch, gradients = self.watch, self.watch.gradients
        if self.calls:
            self.event.data.update(calls=len(self.calls), last=watch.window_count - 1, kept=sum(map(bool, self.calls)) > len(self.calls) // 2)
        elif gradients.fresh & self.held.keys():  # the backward came before: the closure only hands the loss over
            self.calls = [len(gradients.tainted & self.held.keys())]
            self.event.data["closure"] = isinstance(optimizer, torch.optim.LBFGS)
        if self.calls:
            row = {"place": where, "held": len(self.held), "calls": len(self.calls), "old": sum(map(bool, self.calls)),
                   "tensors": max(self.calls), "backward": self.place, "within": "last" in self.event.data}
            watch.observe("closure_step", row, facts.optimizer_name(watch, optimizer))
        self.inside, self.held, self.written, self.event = None, {}, {}, None
