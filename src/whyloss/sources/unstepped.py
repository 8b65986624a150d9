"""Trainings in which no optimizer of torch steps: weights that change all the same between two backwards.

So do loops that update by hand, and frameworks with optimizers of their own. Listens to `torch.autograd.backward` until a change is
seen, an optimizer steps, or for the first backwards only.
"""

import functools
import weakref

import torch

from whyloss.sources import names

LOOKED = 256          # backwards without a change, after which nothing is looked for any more
LARGEST = 1 << 16     # entries of a parameter that is compared
_in_backward = torch._C._current_graph_task_id


class Unstepped:
    """found: called once with the modules whose weights changed"""

    def __init__(self, found):
        self.found = found
        self.kept: list[tuple] = []      # (weak reference to a module, to one of its parameters, its values)
        self.seen = 0
        self._original = torch.autograd.backward
        torch.autograd.backward = self._ours = self._listening(self._original)

    def stop(self) -> None:
        self.kept, self.seen = [], LOOKED + 1
        if torch.autograd.backward is self._ours:  # else somebody wrapped it: it stays, and looks at nothing
            torch.autograd.backward = self._original

    def _listening(self, original):
        @functools.wraps(original)
        def backward(*args, **kwargs):
            if self.seen > LOOKED or _in_backward() != -1 or torch.compiler.is_compiling():
                return original(*args, **kwargs)
            self._safely(self._before)
            result = original(*args, **kwargs)
            self._safely(self._after)
            return result
        return backward

    def _safely(self, look) -> None:
        """A model of a kind we did not think of must not end the script's backward."""
        try:
            look()
        except Exception:
            self.stop()

    def _before(self) -> None:
        self.seen += 1
        changed = [m for module, parameter, values in self.kept if (m := module()) is not None and (p := parameter()) is not None
                   and p.shape == values.shape and p.device == values.device and not torch.equal(p.detach(), values)]
        if changed or self.seen > LOOKED:
            self.stop()
            if changed:
                self.found(changed)

    @torch.no_grad()
    def _after(self) -> None:
        if self.kept or self.seen > LOOKED:
            return
        for module in names.owners():
            held = [p for p in module.parameters() if p.grad is not None and p.is_cpu and 0 < p.numel() <= LARGEST and not p.is_sparse]
            if held:  # not on a device, which would have to be waited for
                smallest = min(held, key=torch.Tensor.numel)
                self.kept.append((weakref.ref(module), weakref.ref(smallest), smallest.detach().clone()))
