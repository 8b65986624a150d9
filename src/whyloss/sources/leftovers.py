"""Gradients that another loss's backward left in parameters of an optimizer that did not use them: a generator's in its discriminator.

Each backward pass is owned by the optimizers that step before the next one. A step of one owner uses leftovers if, in its
parameters, an earlier pass owned by others alone was still there when its own pass added to it.
"""

from whyloss.sources import meters

WINDOWS = 24  # backward passes followed: their graphs are walked one by one


class Leftovers:
    """Part of Gradients."""

    def __init__(self, watch):
        self.watch = watch
        self.parts: dict[int, list[int]] = {}      # parameter -> passes whose gradient is in .grad
        self.owners: dict[int, set[int]] = {}      # pass -> optimizers that stepped on it
        self.pending: list[tuple] = []             # steps that wait until all owners of their pass are known

    def before_backward(self, reached) -> None:
        """The last pass is over: settle the steps taken on it, and look at what is left in the parameters that come next."""
        for optimizer, row, last, earlier in self.pending:
            alone = self.owners[last] == {optimizer}
            row["leftover"] = sum(alone and any(self.owners.get(w) and optimizer not in self.owners[w] for w in parts) for parts in earlier)
        self.pending = []
        if self.watch.window_count > WINDOWS:
            self.parts = {}
            return
        for leaf in reached:
            if self.parts.get(id(leaf)) and self.owners.get(self.parts[id(leaf)][-1]) and (leaf.grad is None or not meters.norm(leaf.grad) > 0):
                self.parts[id(leaf)] = []

    def after_backward(self, reached, window: int) -> None:
        if window < WINDOWS:
            for leaf in reached:
                self.parts.setdefault(id(leaf), []).append(window)

    def cleared(self, parameters) -> None:
        for parameter in parameters:
            self.parts.pop(id(parameter), None)

    def before_step(self, optimizer, held, row: dict) -> None:
        last = self.watch.window_count - 1
        if last < 0 or last >= WINDOWS:
            return
        self.owners.setdefault(last, set()).add(id(optimizer))
        found = [self.parts[id(p)] for p in held if self.parts.get(id(p))]
        self.pending.append((id(optimizer), row, last, [parts[:-1] for parts in found if parts[-1] == last]))
        for parameter in held:
            self.parts.pop(id(parameter), None)
