"""ReLUs that need no hook: in a plain nn.Sequential their output is that of the module before them, clamped at 0.

Calling a hooked module and remembering its output costs more than clamping a few thousand numbers that lie in the cache anyway.
And whether anything is to be heard is asked once for all that is inside.
A hook on the Sequential tells whether it ran as often as what is inside; where it did not, the numbers of that sample are
taken back, and the ReLU is hooked from the next one on.
"""

from collections import Counter
from time import perf_counter

import torch

from whyloss.sources.monitor.entries import SMALL
from whyloss.sources.monitor.tap import CALL_SECONDS, CALLS, MOST, NOTE_SECONDS, TOGETHER, Hook, Tap

_in_backward = torch._C._current_graph_task_id
_functorch = torch._C._functorch.maybe_current_level
_is_grad_enabled = torch.is_grad_enabled
_is_tracing = torch._C._is_tracing
_is_compiling = torch.compiler.is_dynamo_compiling


class Chain(Hook):
    """One nn.Sequential. pairs: (module, ReLU behind it), neither of which is called from elsewhere."""

    def __init__(self, module, pairs: list[tuple[Tap, Tap]], taps: list[Tap], ear):
        self.module, self.pairs, self.taps, self.ear = module, pairs, taps, ear
        self.members = list(module)
        self.noted: list[Tap] = []   # of what is inside: those that only note their output
        self.outer: list | None = None
        self.repeats = False       # it was called more than once in a sample
        self.sample = self.calls = 0
        self.told = 0              # ReLUs whose numbers this sample has
        self.settled = False       # it is known which of them need no hook

    def begins(self, module, args):
        """The forward pre-hook. The first call of a sample is noted together."""
        if _is_compiling():
            return
        ear = self.ear
        self.outer, ear.inside = ear.inside, None
        if not ear.open:
            return
        again = self.sample == ear.sample
        if again and not self.repeats:
            self.repeats = True
            for tap in self.noted:
                tap.sample, tap.calls, tap.entries = ear.sample, 1, tap.kind.count
        if not again and self.noted and _is_grad_enabled() and not _is_tracing() and _functorch() is None and _in_backward() == -1:
            ear.inside = []

    def hear(self, module, args, output):
        """The forward hook. Counts by the rules of what is heard inside."""
        if _is_compiling():
            return
        ear = self.ear
        began, inside, ear.inside, self.outer = perf_counter(), ear.inside, self.outer, None
        if inside:
            self._heard(inside)
            ear.seconds += perf_counter() - began + (CALL_SECONDS + NOTE_SECONDS) * len(inside)
        if not ear.open or not _is_grad_enabled() or _is_tracing():
            return
        if self.sample != ear.sample:
            self.sample, self.calls = ear.sample, 0
        if self.calls < CALLS and _functorch() is None and not (self.calls and _in_backward() != -1):
            self.calls += 1
        ear.seconds += CALL_SECONDS

    def _heard(self, inside: list[tuple]) -> None:
        ear = self.ear
        if self.repeats:
            for tap, call, values, _version in inside:
                tap.sample, tap.calls, tap.entries = ear.sample, call, values.numel()
        ear.held += SMALL * len(inside)   # at most
        ear.heard += len(inside)
        ear.pending += inside
        if len(ear.pending) >= TOGETHER or ear.held > MOST:
            try:
                ear.flush_small()
            except Exception as error:
                ear.on_error(error)

    def take_off(self, key: int) -> None:
        self.module._forward_hooks.pop(key, None)
        self.module._forward_pre_hooks.pop(key, None)

    def look(self) -> None:
        """A hook of somebody else's may change what a module gives: such ReLUs are listened to again. Called while ours are off."""
        if not self.settled:
            return
        for pair in [(before, relu) for before, relu in self.pairs
                     if before.module._forward_hooks or relu.module._forward_hooks or relu.module._forward_pre_hooks]:
            before, relu = pair
            before.chain, relu.follows = None, False
            self.pairs.remove(pair)
            self.ear.orders.clear()

    def settle(self, key: int) -> list[int]:
        """A sample is over. key: of the hooks. -> columns whose numbers do not hold"""
        told, self.told = self.told, 0
        called, same = self.sample == self.ear.sample, list(self.module) == self.members
        if not self.settled:
            if called:
                self._begin([pair for pair in self.pairs if same and self._may(*pair)], key)
                self._note(key)
            return []
        if same and told == len(self.pairs) * self.calls * called:
            return []
        for before, relu in self.pairs:
            before.chain, relu.follows, relu.module._forward_hooks[key] = None, False, relu.hear
        self.ear.orders.clear()
        wrong, self.pairs = [at for _before, relu in self.pairs for at in relu.columns.values()], []
        return wrong

    def _begin(self, pairs: list[tuple[Tap, Tap]], key: int) -> None:
        self.settled, self.pairs = True, pairs
        self.ear.orders.clear()
        for before, relu in pairs:
            before.chain, before.follower, relu.follows = self, relu, True
            relu.module._forward_hooks.pop(key, None)

    def _note(self, key: int) -> None:
        inside = {id(member) for member in self.members}
        self.noted = [tap for tap in self.taps if id(tap.module) in inside and not tap.follows and tap.kind is not None and
                      tap.sample == self.sample and tap.calls == self.calls and tap.module._forward_hooks.get(key) == tap.hear]
        for tap in self.noted:
            tap.listens = tap.note
            tap.module._forward_hooks[key] = tap.note

    def _may(self, before: Tap, relu: Tap) -> bool:
        """Both are small and of one kind, as they lie in memory: read whole, as rows of one matrix."""
        as_often = before.sample == relu.sample == self.sample and before.calls == relu.calls == self.calls
        ours_alone = len(before.module._forward_hooks) == len(relu.module._forward_hooks) == 1 and not relu.module._forward_pre_hooks
        return as_often and ours_alone and before.kind is not None and before.kind is relu.kind and before.kind.plain


def chains(modules: dict[str, torch.nn.Module], taps: list[Tap], ear) -> list[Chain]:
    """All there are in a model. modules: by name"""
    if torch.nn.modules.module._global_forward_hooks or torch.nn.modules.module._global_forward_pre_hooks:
        return []
    held = Counter(id(child) for module in modules.values() for child in module._modules.values())
    tapped = {id(tap.module): tap for tap in taps if held[id(tap.module)] == 1}
    found = []
    for module in modules.values():
        if type(module) is torch.nn.Sequential and "forward" not in module.__dict__:
            inside = list(module)
            pairs = [(tapped[id(a)], tapped[id(b)]) for a, b in zip(inside, inside[1:])
                     if type(b) is torch.nn.ReLU and not isinstance(a, torch.nn.ReLU) and id(a) in tapped and id(b) in tapped
                     and "forward" not in b.__dict__]
            if pairs:
                found.append(Chain(module, pairs, [tapped[id(member)] for member in inside if id(member) in tapped], ear))
    return found
