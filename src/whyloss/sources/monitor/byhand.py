"""Loops that change the weights themselves, `p -= rate * p.grad`, with no optimizer that could be heard.

They are noticed when weights change between two backwards, twice, before any optimizer has stepped. From then on the end of
a backward is the time before a step, and the first forward (or else backward) that finds the weights changed is the time after
it. Several backwards without a change are one step, as gradients that are accumulated are.
"""

import weakref
from time import perf_counter

import torch

TIMES = 2        # changes between backwards before a loop is taken for one that updates by hand
PROBES = 3       # of the smallest trainable parameters are looked at
LOOKED = 256     # backwards without a step or a change after which nothing is looked for any more
LARGEST = 1 << 16


class Loop:
    """Stands for the optimizer that is not there."""

    def __init__(self, parameters):
        self.param_groups = [{"params": parameters}]


class ByHand:
    """For one monitor, until an optimizer steps."""

    def __init__(self, monitor):
        self._monitor = weakref.proxy(monitor)
        self.optimizer: Loop | None = None
        self._kept: list[tuple] = []   # (parameter, what it was at the last backward)
        self._seen = self._changes = 0
        self._waits = False            # a backward is over, and the weights are as they were
        self._undo = None

    def before_backward(self) -> None:
        try:
            self._before()
        except Exception as error:
            self._monitor._fail(error)

    def _before(self) -> None:
        if self.optimizer is not None:
            self._ended()
            return
        self._seen += 1
        self._changes += self._changed()
        if self._seen > LOOKED and not self._changes:
            self.stop()
        elif self._changes >= TIMES:
            held = [p for p in self._monitor.model.parameters() if p.requires_grad]
            self.optimizer = Loop(held)
            self._undo = self._monitor.model.register_forward_pre_hook(self._forward).remove
            self._monitor.sampler.drop()  # what was heard so far belongs to several steps
            self._monitor._begin_sample()

    def after_backward(self) -> None:
        try:
            self._after()
        except Exception as error:
            self._monitor._fail(error)

    def _after(self) -> None:
        began = perf_counter()
        if not self._kept:  # not on a device, which would have to be waited for
            held = [p for p in self._monitor.model.parameters() if p.requires_grad and p.is_cpu and 0 < p.numel() <= LARGEST]
            self._kept = [(p, None) for p in sorted(held, key=torch.Tensor.numel)[:PROBES]]
        if self.optimizer is None or not self._waits:
            self._kept = [(p, p.detach().clone()) for p, _ in self._kept]
        self._monitor.pace.since += perf_counter() - began
        if self.optimizer is not None:
            self._waits = True
            if self._monitor.wants_before:
                self._monitor.before_step(self.optimizer, (self.optimizer,), {})

    def hear(self, optimizer) -> None:
        """Something steps: a real optimizer, be it one that torch's hooks do not know, ends this."""
        if optimizer is not self.optimizer:
            self.stop()

    def stop(self) -> None:
        """An optimizer stepped, or the watching ends."""
        if self._undo is not None:
            self._undo()
        self._undo = self.optimizer = None
        self._kept = []
        self._monitor.hand = None

    def _changed(self) -> bool:
        began = perf_counter()
        changed = any(kept is not None and not torch.equal(p.detach(), kept) for p, kept in self._kept)
        self._monitor.pace.since += perf_counter() - began
        return changed

    def _forward(self, module, args) -> None:
        if not torch.compiler.is_compiling():
            self._ended()

    def _ended(self) -> None:
        if self._waits and self._changed():
            self._waits = False
            self._monitor.after_step(self.optimizer)
