"""What the loop calls: patches torch so that a watch hears of it. Everything is put on together and taken off together.

No patch changes an argument, a result or the random state. Hooks sit in this importable module, never in __main__:
torch.compile resolves a hook's globals by module name.
"""

import functools
import inspect
import sys
import threading

import torch

from whyloss.sources import collectives, place, settings, transforms, warned
from whyloss.sources.stephooks import StepHooks
from whyloss.sources.undisturbed import without_numbers

_is_compiling = torch.compiler.is_dynamo_compiling
_functorch = torch._C._functorch.maybe_current_level
_STEPS = torch.optim.Optimizer.profile_hook_step.__code__.co_filename


class Patches:
    """The patches of one watch; `remove()` restores every attribute.

    hooks  False: somebody else's hooks tell of the optimizers' steps (torch's own must not grow in number while they run)
    """

    def __init__(self, watch):
        self.watch = watch
        self.hooks = True
        self.thread = self.first = threading.get_ident()
        self.undo: list = []
        self.steps: StepHooks | None = None
        self.stepping: tuple = (None, None)   # the optimizer whose step() runs, and the frame of that

    def _replace(self, owner, name: str, make) -> None:
        original = owner.__dict__[name] if isinstance(owner, type) else getattr(owner, name)
        ours = make(original)
        self._put(owner, name, original, ours)
        home = sys.modules.get(getattr(original, "__module__", None) or "")
        if owner in (torch, torch.func) and home not in (None, owner) and getattr(home, name, None) is original:
            self._put(home, name, original, ours)  # pickle looks for a function where it is defined

    def _put(self, owner, name: str, original, ours) -> None:
        setattr(owner, name, ours)
        self.undo.append((owner, name, original))

    def remove(self) -> None:
        for owner, name, original in reversed(self.undo):
            if name is None:
                original.remove()
            else:
                setattr(owner, name, original)
        self.undo.clear()

    def heard(self) -> bool:
        """Whether this thread's calls are the training's (worker threads, the backward pass and the tracing of an export are not)."""
        return self.watch.awake and threading.get_ident() == self.thread and torch._C._current_graph_task_id() == -1 and not torch._C._is_tracing() \
            and _functorch() is None and not without_numbers()  # inside a transform of torch.func a tensor has no number to read

    def adopt(self) -> None:
        """An optimizer is made, or a model wrapped, in another thread, and nothing was trained before: the training is there (Ray Train, say)."""
        watch = self.watch
        if watch.awake and threading.get_ident() != self.thread and not (watch.window_count or watch.step_count) and \
                torch._C._current_graph_task_id() == -1:
            self.thread = threading.get_ident()
            watch.recorder.installed = False  # where it was put on, it hears nothing of this thread
            watch.recorder.install()

    @property
    def elsewhere(self) -> bool:
        """Whether the training runs in another thread than that which imported torch: then the process is somebody else's."""
        return self.thread != self.first

    def install(self) -> None:
        self._modules()
        self._backward()
        self._optimizers()
        self._clipping()
        self._schedulers()
        self._scaler()
        self._compile()
        transforms.patch(self.watch, self._replace, self.heard)
        settings.patch(self.watch, self._replace, self.heard)
        self.watch.checkpoints.install(self._replace, self.heard)
        collectives.install(self)
        warned.patch(self._replace)

    def _modules(self) -> None:
        watch, heard = self.watch, self.heard

        def make_call(original):
            def __call__(self, *args, **kwargs):
                if _is_compiling() or not watch.awake or not heard():  # first: a compiler traces through here
                    return original(self, *args, **kwargs)
                return watch.forward.module_call(self, original, args, kwargs)
            return __call__

        self._replace(torch.nn.Module, "__call__", make_call)

        def make_train(original):
            @functools.wraps(original)
            def train(self, mode=True):
                if heard():
                    watch.mode_switch(self, mode, place.here(2))
                return original(self, mode)
            return train

        self._replace(torch.nn.Module, "train", make_train)

        def make_zero(original):
            @functools.wraps(original)
            def zero_grad(self, set_to_none=True):
                with watch.quiet():
                    result = original(self, set_to_none)
                if heard():
                    watch.cleared(list(self.parameters()), place.here(2), ("module", id(self)))
                return result
            return zero_grad

        self._replace(torch.nn.Module, "zero_grad", make_zero)

        def make_apply(original):
            def apply(cls, *args, **kwargs):
                if not heard():
                    return original.__func__(cls, *args, **kwargs)
                return watch.forward.function_apply(cls, original.__func__, args, kwargs)
            return classmethod(apply)

        self._replace(torch.autograd.Function, "apply", make_apply)

    def _backward(self) -> None:
        watch, heard = self.watch, self.heard

        def make_backward(original):
            @functools.wraps(original)
            def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, *args, **kwargs):
                if not heard() or watch.inside_backward:  # torch dispatches a direct call through the mode, and so here again
                    return original(tensors, grad_tensors, retain_graph, create_graph, *args, **kwargs)
                where = place.here(2)
                tensors = tensors if isinstance(tensors, torch.Tensor) else tuple(tensors)
                watch.before_backward(tensors, grad_tensors, where, retain_graph)
                watch.inside_backward = True
                try:
                    with watch.quiet():
                        result = original(tensors, grad_tensors, retain_graph, create_graph, *args, **kwargs)
                finally:
                    watch.inside_backward = False
                watch.after_backward(where)
                return result
            return backward

        self._replace(torch.autograd, "backward", make_backward)

        def make_grad(original):
            @functools.wraps(original)
            def grad(outputs, inputs, *args, **kwargs):
                if not heard() or watch.inside_backward:  # as above: one call comes here twice
                    return original(outputs, inputs, *args, **kwargs)
                where, inputs = place.here(2), inputs if isinstance(inputs, torch.Tensor) else tuple(inputs)
                outputs = outputs if isinstance(outputs, torch.Tensor) else tuple(outputs)
                watch.inside_backward = True
                try:
                    result = original(outputs, inputs, *args, **kwargs)
                finally:
                    watch.inside_backward = False
                again = bool(kwargs.get("create_graph", args[2] if len(args) > 2 else False))
                watch.functional_grad(outputs, inputs, where, None if again else result)
                return result
            return grad

        self._replace(torch.autograd, "grad", make_grad)

    def before_step(self, optimizer, args, kwargs) -> None:
        if self.heard() and not self._within(optimizer):
            closure = kwargs.get("closure") or any(callable(a) for a in args[1:])  # args[0] is the optimizer itself
            self.watch.before_step(optimizer, place.here(2), bool(closure))

    def after_step(self, optimizer, args, kwargs) -> None:
        if self.heard() and optimizer is self.stepping[0]:
            self.stepping = None, None
            self.watch.after_step(optimizer, place.here(2))

    def _within(self, optimizer) -> bool:
        """Whether an optimizer steps inside of another one's step(), of which it is a part. The other one's may also have raised."""
        outer, begun = self.stepping
        frame = None if outer is None or outer is optimizer else sys._getframe(2)
        while frame is not None:
            if frame is begun:
                return True
            frame = frame.f_back
        begun = sys._getframe(2)
        while begun.f_back is not None and begun.f_code.co_filename != _STEPS:  # of the step itself, not of a hook
            begun = begun.f_back
        self.stepping = optimizer, begun
        return False

    def _optimizers(self) -> None:
        from torch.optim.optimizer import Optimizer

        watch, heard, adopt = self.watch, self.heard, self.adopt
        if self.hooks:
            self.steps = StepHooks(self.before_step, self.after_step)
            self.undo.append((None, None, self.steps))

        def make_init(original):
            @functools.wraps(original)
            def __init__(self, *args, **kwargs):
                original(self, *args, **kwargs)
                adopt()
                if heard():
                    watch.optimizer_made(self, place.here(2))
            return __init__

        self._replace(Optimizer, "__init__", make_init)

        def make_zero(original):
            @functools.wraps(original)
            def zero_grad(self, set_to_none=True):
                with watch.quiet():
                    result = original(self, set_to_none)
                if heard():
                    held = [p for group in self.param_groups for p in group["params"]]
                    watch.cleared(held, place.here(2), ("optimizer", id(self)))
                return result
            return zero_grad

        self._replace(Optimizer, "zero_grad", make_zero)

    def _clipping(self) -> None:
        import torch.nn.utils.clip_grad as clip_grad

        watch, heard = self.watch, self.heard
        for name in ("clip_grad_norm_", "clip_grad_value_"):
            def make(original):
                signature = inspect.signature(original)

                @functools.wraps(original)
                def clip(*args, **kwargs):  # called by position or by torch's own names: max_norm=1.0, clip_value=0.5
                    if not heard() or not fits(signature, args, kwargs):
                        return original(*args, **kwargs)
                    given = signature.bind(*args, **kwargs)
                    parameters, limit = list(given.arguments.values())[:2]
                    held = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
                    given.arguments[next(iter(given.arguments))] = held
                    where = place.here(2)
                    before = watch.gradient_norm(held)
                    with watch.quiet():
                        result = original(*given.args, **given.kwargs)
                    watch.clipped(held, limit, before, where, original)
                    return result
                return clip

            original = getattr(clip_grad, name)
            wrapped = make(original)
            for owner in (clip_grad, torch.nn.utils):
                setattr(owner, name, wrapped)
                self.undo.append((owner, name, original))

    def _schedulers(self) -> None:
        import torch.optim.lr_scheduler as schedulers

        watch, heard = self.watch, self.heard

        def make(original):
            @functools.wraps(original)
            def step(self, *args, **kwargs):
                result = original(self, *args, **kwargs)
                if heard():
                    watch.scheduled(self, place.here(2))
                return result
            return step

        for thing in list(vars(schedulers).values()):
            if isinstance(thing, type) and "step" in vars(thing) and hasattr(thing, "state_dict"):
                self._replace(thing, "step", make)

    def _scaler(self) -> None:
        from torch.amp import GradScaler

        watch, heard = self.watch, self.heard

        def make(name):
            def wrap(original):
                @functools.wraps(original)
                def method(self, *args, **kwargs):
                    if not heard():
                        return original(self, *args, **kwargs)
                    result = original(self, *args, **kwargs)
                    watch.scaler_call(name, self, (*args, *kwargs.values()), result, place.here(2))
                    return result
                return method
            return wrap

        for name in ("scale", "unscale_", "update"):
            self._replace(GradScaler, name, make(name))

    def _compile(self) -> None:
        watch, heard = self.watch, self.heard

        def make(original):
            @functools.wraps(original)
            def compile(model=None, *args, **kwargs):
                if model is None:  # used as @torch.compile(options)
                    return lambda function: compile(function, *args, **kwargs)
                compiled = original(model, *args, **kwargs)
                if self.steps is not None and self.steps.handles:
                    self.steps.untrace()
                if isinstance(model, torch.nn.Module) or not heard():
                    return compiled

                @functools.wraps(model)
                def opaque(*inner, **named):
                    if torch.compiler.is_compiling() or not heard():  # first: a function compiled around this one is traced through here
                        return compiled(*inner, **named)
                    return watch.forward.compiled_call(model, compiled, inner, named)
                return opaque
            return compile

        self._replace(torch, "compile", make)


def fits(signature, args, kwargs) -> bool:
    """Whether a function can be called so; if not, it is to say so itself."""
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True
