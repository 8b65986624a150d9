"""Patches of torch.distributed and of data loaders for a watch: hear what the ranks' loops do, call nothing of our own."""

import contextlib
import functools

import torch

from whyloss.sources import place

EXCHANGES = ("all_reduce", "all_reduce_coalesced", "reduce", "broadcast", "all_gather", "all_gather_into_tensor", "reduce_scatter",
             "reduce_scatter_tensor", "broadcast_coalesced", "all_gather_object", "send")


def install(patches) -> None:
    """Part of Patches.install()."""
    _loaders(patches)
    if torch.distributed.is_available():
        _wrappers(patches)
        _exchanges(patches)


def tensors_of(arguments) -> list[torch.Tensor]:
    """The tensors handed to a collective, alone or in a list. Groups and operations are not looked into."""
    flat = [t for a in arguments for t in (a if type(a) in (list, tuple) else (a,))]
    return [t for t in flat if isinstance(t, torch.Tensor)]


def _wrappers(patches) -> None:
    from torch.nn.parallel import DistributedDataParallel

    ranks, guard, heard = patches.watch.ranks, patches.watch._guard, patches.heard

    def make_init(original):
        @functools.wraps(original)
        def __init__(self, *args, **kwargs):
            original(self, *args, **kwargs)
            patches.adopt()
            if heard():
                with guard():
                    ranks.wrapped(self, place.here(2))
        return __init__

    def make_hook(original):
        @functools.wraps(original)
        def register_comm_hook(self, state, hook):
            original(self, state, hook)
            ranks.hooked(self, hook)
        return register_comm_hook

    patches._replace(DistributedDataParallel, "__init__", make_init)
    patches._replace(DistributedDataParallel, "register_comm_hook", make_hook)


def _exchanges(patches) -> None:
    ranks, guard, heard = patches.watch.ranks, patches.watch._guard, patches.heard

    def make(original):
        @functools.wraps(original)
        def exchange(*args, **kwargs):
            if heard():
                with guard():
                    ranks.exchanged(tensors_of([*args, *kwargs.values()]))
            return original(*args, **kwargs)
        return exchange

    def make_group(original):
        @functools.wraps(original)
        def init_process_group(*args, **kwargs):
            result = original(*args, **kwargs)
            if ranks.on_group is not None:
                ranks.on_group()
            return result
        return init_process_group

    def make_end(original):
        @functools.wraps(original)
        def destroy_process_group(*args, **kwargs):
            if ranks.on_end is not None and patches.elsewhere:
                with contextlib.suppress(Exception):
                    ranks.on_end()
            return original(*args, **kwargs)
        return destroy_process_group

    patches._replace(torch.distributed, "init_process_group", make_group)
    patches._replace(torch.distributed, "destroy_process_group", make_end)
    for name in EXCHANGES:
        if hasattr(torch.distributed, name):
            patches._replace(torch.distributed, name, make)


def _loaders(patches) -> None:
    from torch.utils.data import DataLoader

    ranks, loaders, heard = patches.watch.ranks, patches.watch.loaders, patches.heard

    def make_init(original):
        @functools.wraps(original)
        def __init__(self, *args, **kwargs):
            original(self, *args, **kwargs)
            if heard():
                ranks.loader_made(self, place.here(2))
                loaders.made_at(self, place.here(2))
        return __init__

    def make_iter(original):
        @functools.wraps(original)
        def __iter__(self):
            ranks.loader_used(self)
            if heard():
                loaders.used(self)
            return original(self)
        return __iter__

    patches._replace(DataLoader, "__init__", make_init)
    patches._replace(DataLoader, "__iter__", make_iter)
