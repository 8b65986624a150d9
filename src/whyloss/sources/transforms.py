"""Loops that take their gradients from torch.func: nothing has .grad and no optimizer steps, the caller keeps the parameters himself."""

import functools

import torch

from whyloss.sources import place
from whyloss.sources.structure import tensors_in


def patch(watch, replace, heard) -> None:
    """Hear of torch.func.grad and grad_and_value, where nothing else was seen to train."""
    with_value = torch.func.grad_and_value

    def listened(function, argnums, has_aux, value):
        transformed = with_value(function, argnums, has_aux)

        @functools.wraps(function)
        def call(*args, **kwargs):
            if not heard() or watch.recorder.paused or watch.optimizers or watch.window_count or inside():
                gradients, result = transformed(*args, **kwargs)
            else:
                where = place.here(2)
                watch.inside_backward = True
                try:
                    with watch.quiet():
                        gradients, result = transformed(*args, **kwargs)
                finally:
                    watch.inside_backward = False
                wanted = list(tensors_in([args[at] for at in ((argnums,) if isinstance(argnums, int) else argnums)]))
                watch.functional_grad(result[0] if has_aux else result, wanted, where, list(tensors_in(gradients)))
            if value:
                return gradients, result
            return (gradients, result[1]) if has_aux else gradients
        return call

    def make(value):
        def wrap(original):
            @functools.wraps(original)
            def transform(func, argnums=0, has_aux=False):
                return listened(func, argnums, has_aux, value)
            return transform
        return wrap

    replace(torch.func, "grad", make(False))
    replace(torch.func, "grad_and_value", make(True))


def inside() -> bool:
    """Whether another transform (vmap, an outer grad) is at work."""
    return torch._C._functorch.maybe_current_level() is not None
