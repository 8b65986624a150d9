"""Copies of the weights from good times: where a training has gone wrong, experiments start from before that.

Only where steps are frozen at alerts. A copy lies in host memory; it is taken when the last one is old enough that copying
stays below a hundredth of the time, and only while the loss is where it should be.
"""

import copy
from dataclasses import dataclass
from time import perf_counter

import torch

from whyloss.sources.program import COPY_LIMIT, Program

SHARE = 0.01      # of the time
APART = 64        # steps between two copies at least: an alert looks back that far
BEFORE = 32       # steps before an alert from which on a copy counts as taken in good times


@dataclass
class Snapshot:
    """tensors: id of the live tensor -> its value then; states: id of the optimizer -> its state_dict"""

    step: int
    tensors: dict[int, torch.Tensor]
    states: dict[int, dict]


class Snapshots:
    """The last two."""

    def __init__(self, monitor):
        self.monitor = monitor
        self.held: list[Snapshot] = []
        self.cost = self.spent = self.last = 0.0
        self.off = sum(t.numel() * t.element_size() for t in _tensors(monitor.model)) > COPY_LIMIT or \
            monitor._world > 1  # a rank alone cannot run its step again anyway

    def due(self, step: int) -> bool:
        return not self.off and (not self.held or step - self.held[-1].step >= APART and perf_counter() - self.last >= self.cost / SHARE)

    def take(self, step: int, optimizers) -> None:
        began = perf_counter()
        with torch.no_grad():
            tensors = {id(t): t.detach().to("cpu", copy=True) for t in _tensors(self.monitor.model)}
        states = {id(o): _on_host(o.state_dict()) for o in optimizers}
        self.held = [*self.held[-1:], Snapshot(step, tensors, states)]
        self.last = perf_counter()
        self.cost = self.last - began
        self.spent += self.cost

    def before(self, step: int) -> Snapshot | None:
        """The latest one from so long before an alert that it was taken in good times; the first one at worst."""
        good = [s for s in self.held if s.step <= step - BEFORE]
        return good[-1] if good else next(iter(self.held), None)


def _tensors(model):
    yield from model.parameters()
    yield from model.buffers()


def _on_host(state):
    if isinstance(state, torch.Tensor):
        return state.detach().to("cpu", copy=True)
    if isinstance(state, dict):
        return {key: _on_host(value) for key, value in state.items()}
    return [_on_host(item) for item in state] if isinstance(state, list) else copy.deepcopy(state)


def go_back(program: Program, snapshot: Snapshot) -> None:
    """The program starts with the weights of then; its batches, its calls and their settings stay those that were recorded.

    That its tapes are faithful must have been seen before: afterwards no recorded loss is that of these weights.
    """
    with torch.no_grad():
        for key, leaf in program.leaves.items():
            if key in snapshot.tensors and snapshot.tensors[key].shape == leaf.shape:
                leaf.copy_(snapshot.tensors[key])
        for key, module in program.modules.items():
            for (_, original), (_, twin) in zip(program.originals[key].named_buffers(), module.named_buffers()):
                if id(original) in snapshot.tensors and twin.shape == snapshot.tensors[id(original)].shape:
                    twin.copy_(snapshot.tensors[id(original)])
    for key, optimizer in program.optimizers.items():
        if key in snapshot.states:
            state = optimizer.state_dict()
            optimizer.load_state_dict({**state, "state": snapshot.states[key]["state"]})
    program.first_step = -1
