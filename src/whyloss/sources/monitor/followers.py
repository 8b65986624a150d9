"""ReLUs that need no hook: in a plain nn.Sequential their output is that of the module before them, clamped at 0.

Calling a hooked module and remembering its output costs more than clamping a few thousand numbers that lie in the cache anyway.
And whether anything is to be heard is asked once for all that is inside.
A hook on the Sequential tells whether it ran as often as what is inside; where it did not, the numbers of that sample are
taken back, and the ReLU is hooked from the next one on.
"""

from collections import Counter
from time import perf_counter

import torch
from torch.nn.modules import module as calling
from torch.utils.hooks import RemovableHandle

from whyloss.sources.monitor.entries import SMALL
from whyloss.sources.monitor.tap import CALL_SECONDS, CALLS, MOST, NOTE_SECONDS, TOGETHER, Hook, Tap

LOOK = 16    # samples between two looks at what no counter tells of
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
        self.repeats = False       # in some sample it was called more than once, or a member by itself
        self.key = self.handles = -1   # of our hooks; how many there were in the whole process when they were last looked at
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
        if self.handles != RemovableHandle.next_id:
            self.look(1)
        again = self.sample == ear.sample
        if again:
            self.apart()
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

    def apart(self) -> None:
        """A member is heard outside of the first call: from now on each of them counts its calls."""
        if self.repeats or not self.ear.open:
            return
        self.repeats = True
        if self.sample == self.ear.sample:
            for tap in self.noted:
                if tap.sample != self.sample:
                    tap.sample, tap.calls, tap.entries = self.sample, 1, 0   # how many is told by what was read

    def _heard(self, inside: list[tuple]) -> None:
        ear = self.ear
        if self.repeats:
            for at, (tap, _call, values, version) in enumerate(inside):
                call = tap.calls + 1 if tap.sample == ear.sample else 1
                tap.sample, tap.calls, inside[at] = ear.sample, call, (tap, call, values, version)
                if call == 1:
                    tap.entries = values.numel()
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

    def look(self, ours: int) -> list[int]:
        """A hook of somebody else's may change what a module gives: such ReLUs are listened to again. ours: hooks on the module before;
        1 while we listen. -> the columns of these ReLUs"""
        self.handles = RemovableHandle.next_id
        if not self.settled:
            return []
        everywhere = bool(calling._global_forward_hooks or calling._global_forward_pre_hooks)
        between = [(before, relu) for before, relu in self.pairs
                   if everywhere or len(before.module._forward_hooks) > ours or relu.module._forward_hooks or relu.module._forward_pre_hooks
                   or "forward" in relu.module.__dict__]
        self._hook(between, listening=bool(ours))
        self.pairs = [pair for pair in self.pairs if pair not in between]
        return [at for _before, relu in between for at in relu.columns.values()]

    def _hook(self, pairs: list[tuple[Tap, Tap]], *, listening: bool) -> None:
        for before, relu in pairs:
            before.chain, relu.follows = None, False
            if listening:
                relu.module._forward_hooks[self.key] = relu.hear
        if pairs:
            self.ear.orders.clear()

    def leave(self, key: int) -> None:
        """No ReLU is left: the members are modules like any others."""
        self.take_off(key)
        for tap in self.noted:
            tap.listens, tap.home = tap.hear, None
            if tap.module._forward_hooks.get(key) == tap.note:
                tap.module._forward_hooks[key] = tap.hear

    def settle(self, key: int) -> list[int]:
        """A sample is over. key: of the hooks. -> columns whose numbers do not hold"""
        told, self.told, self.key = self.told, 0, key
        called, same = self.sample == self.ear.sample, list(self.module) == self.members
        if not self.settled:
            if called:
                self._begin([pair for pair in self.pairs if same and self._may(*pair)], key)
                self._note(key)
            return []
        if same and told == len(self.pairs) * self.calls * called:
            return self.look(1) if self.ear.sample % LOOK == 0 else []
        self._hook(self.pairs, listening=True)
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
            tap.listens, tap.home = tap.note, self
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
