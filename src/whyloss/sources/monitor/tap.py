"""One module that is listened to, in sampled steps only.

The hooks live in this importable module and return None, so that compiled and traced code, copies and pickles can do with them.
"""

from contextlib import nullcontext
from time import perf_counter
from types import SimpleNamespace

import torch

from whyloss.sources.monitor.entries import SMALL, numbers
from whyloss.sources.structure import tensors_in

TOGETHER = 100        # small outputs read together
MOST = 1 << 20        # entries of them
CALLS = 8            # calls of one module that are read in a sample; later ones are not
NOTE_SECONDS = 0.5e-6  # what noting an output takes in a Chain
CALL_SECONDS = 1.5e-6  # what torch's slower way of calling a hooked module takes, which no clock of ours sees
_Tensor, _float32 = torch.Tensor, torch.float32
_RELUS = (torch.nn.ReLU, torch.nn.ReLU6)
_is_grad_enabled = torch.is_grad_enabled
_in_backward = torch._C._current_graph_task_id
_functorch = torch._C._functorch.maybe_current_level
_is_tracing = torch._C._is_tracing
_is_compiling = torch.compiler.is_dynamo_compiling  # the cheap one: a hook that a tracer calls hears tensors of the tracer's type


class Hook:
    """A model that is copied or pickled in the middle of a sampled step takes no ear with it."""

    def __deepcopy__(self, memo):
        return Mute()

    def __reduce__(self):  # a call that does nothing, and can be loaded where whyloss is not
        deaf = nullcontext().__exit__
        return SimpleNamespace, (), dict.fromkeys(("hear", "note", "begins"), deaf)


class Tap(Hook):
    """One module that can be listened to. columns: where mean, std, active and dead share go in a frame."""

    def __init__(self, name: str, module, ear):
        self.name, self.module, self.ear = name, module, ear
        self.relu = isinstance(module, _RELUS)
        self.at_once = False     # a later module overwrites this output in place: it cannot be read later
        self.sample = self.calls = 0    # the last sample it was heard in, and how often in that
        self.entries = 0         # of its first output in this sample
        self.columns: dict[str, int] = {}
        self.kind = None         # of its last small output
        self.chain = self.follower = None   # of a ReLU behind it that has no hook of its own: where that is, and its tap
        self.follows = False     # it is such a one
        self.home = None         # the chain that it notes its output for
        self.listens = self.hear # its forward hook

    def hear(self, module, args, output):
        """The forward hook."""
        if _is_compiling():  # first: nothing of this may enter a graph
            return
        ear = self.ear
        if not ear.open or not _is_grad_enabled() or _is_tracing():
            return
        began = perf_counter()
        try:
            # in one piece, because a call costs as much as what it would do
            call = self.calls + 1 if self.sample == ear.sample else 1
            # not inside a transform of torch.func; and checkpointing calls a module a second time inside of backward
            if call > CALLS or _functorch() is not None or (call > 1 and _in_backward() != -1):
                return
            if type(output) is torch.Tensor and output.dtype is torch.float32:
                values = output
            else:
                if torch.compiler.is_compiling():  # any tracer
                    return
                values = numbers(output_of(output))
                if values is None:
                    return
            count = values.numel()
            if count < 2:
                return
            self.sample, self.calls = ear.sample, call
            if call == 1:
                self.entries = count
            ear.heard += 1
            if count > SMALL:
                ear.big(self, values)
                return
            if self.at_once or values.is_inference():  # the latter have no version that tells whether they are overwritten
                values = values.detach().clone()
            pending = ear.pending
            pending.append((self, call, values, values._version))
            ear.held += count
            if len(pending) >= TOGETHER or ear.held > MOST:
                ear.flush_small()
        except Exception as error:
            ear.on_error(error)
        finally:
            ear.seconds += perf_counter() - began + CALL_SECONDS

    def note(self, module, args, output):
        """The forward hook inside of a Chain, which has asked what `hear` asks. As short as can be: it runs a hundred times."""
        if _is_compiling():
            return
        inside = self.ear.inside
        if inside is None and self.home is not None:
            self.home.apart()
        if inside is None or type(output) is not _Tensor or output.dtype is not _float32 or not 1 < output.numel() <= SMALL:
            self.hear(module, args, output)
            return
        if self.at_once:
            output = output.detach().clone()
        try:
            inside.append((self, 1, output, output._version))
        except RuntimeError:  # an inference tensor has none
            self.hear(module, args, output)


class Mute:
    """What stands for a tap in a copy of the model: also where its method is called as a tap's."""

    open = False
    inside = outer = None

    @property
    def ear(self):
        return self

    home = ear

    def apart(self):
        return None

    def hear(self, module, args, output):
        return None

    note = hear


def without_ears(model) -> None:
    """Take what stands for taps off a copy: an exporter would make it part of the model."""
    for module in model.modules():
        for hooks in (module._forward_hooks, module._forward_pre_hooks):
            for key in [key for key, hook in hooks.items() if isinstance(getattr(hook, "__self__", None), Mute)]:
                del hooks[key]


def output_of(output) -> torch.Tensor | None:
    """The floating-point tensor of what a module returned: the first in a tuple, dict or dataclass."""
    if not isinstance(output, torch.Tensor):
        output = next((t for t in tensors_in(output) if t.is_floating_point() or t.is_complex()), None)
    return output
