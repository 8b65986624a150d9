"""Random numbers of data loader workers: does each draw its own, or all the same? Asked of the loader and a shallow copy of its data set, at the end.

Workers start as copies of the parent. torch gives each its own seeds of random, numpy.random and torch (numpy since torch 1.9); a generator that the
data set holds itself is copied with its state, in each worker and again in each epoch.
"""

import copy
import random

import numpy as np
import torch

MOST = 4        # loaders with workers that are looked at
DEPTH = 3       # data set, its transform, a transform of that
_HOLDERS = (np.random.Generator, np.random.RandomState, random.Random, torch.Generator)


class Loaders:
    """DataLoaders that training batches came from: those whose iteration was followed by backward passes."""

    def __init__(self, watch):
        self.watch = watch
        self.made: dict[int, str | None] = {}
        self.known: dict[int, object] = {}
        self.trained: dict[int, int] = {}
        self.current: tuple[int, int] | None = None    # loader that was iterated last, backward passes before it

    def made_at(self, loader, where: str | None) -> None:
        self.made[id(loader)] = where

    def used(self, loader) -> None:
        """A loader is iterated from its beginning."""
        self._count()
        if getattr(loader, "num_workers", 0):
            if id(loader) in self.known or len(self.known) < MOST:
                self.known[id(loader)] = loader  # held: it may be gone when the script's last function has returned
            self.current = id(loader), self.watch.window_count
        else:
            self.current = None

    def _count(self) -> None:
        if self.current is not None and self.watch.window_count > self.current[1]:
            key = self.current[0]
            self.trained[key] = self.trained.get(key, 0) + 1
        self.current = None

    def at_the_end(self) -> None:
        """Write `worker_randomness` for each loader that trained with workers, and let go of them."""
        self._count()
        known, self.known = self.known, {}
        for key, epochs in self.trained.items():
            loader = known.get(key)
            if loader is None:
                continue
            found = _held(loader, epochs) or _seeded_alike(loader)
            if found is not None:
                self.watch.observe("worker_randomness", {**found, "workers": loader.num_workers, "epochs": epochs,
                                                         "dataset": type(loader.dataset).__name__}, self.made.get(key) or "?")


def _held(loader, epochs: int) -> dict | None:
    """A generator inside the data set that its samples draw from, where no worker_init_fn could give each worker its own."""
    if loader.worker_init_fn is not None or getattr(loader, "persistent_workers", False) and loader.num_workers < 2:
        return None
    if loader.num_workers < 2 and epochs < 2:
        return None
    for path in _generators(loader.dataset):
        twin, held = _with_own(loader.dataset, path)
        before = _state(held)
        if _drawn(twin) and not _equal(before, _state(held)):
            return {"kind": "held", "name": ".".join(path), "generator": type(held).__name__}
    return None


def _generators(thing, path=(), depth: int = DEPTH):
    """Paths of attributes that are generators."""
    for name, value in list(getattr(thing, "__dict__", {}).items()):
        if isinstance(value, _HOLDERS):
            yield (*path, name)
        elif depth > 1 and hasattr(value, "__dict__") and not isinstance(value, (type, torch.Tensor, torch.nn.Module)):
            yield from _generators(value, (*path, name), depth - 1)


def _with_own(dataset, path):
    """(a shallow copy of the data set with its own copy of the generator, that generator): the user's stay as they are."""
    twin = here = copy.copy(dataset)
    for name in path[:-1]:
        inner = copy.copy(getattr(here, name))
        setattr(here, name, inner)
        here = inner
    original = getattr(here, path[-1])
    held = original.clone_state() if isinstance(original, torch.Generator) else copy.deepcopy(original)
    setattr(here, path[-1], held)
    return twin, held


def _drawn(dataset) -> bool:
    """Take one sample, as a worker would; the process's own random states are put back by the caller."""
    with _states_kept():
        try:
            dataset[0]
        except Exception:  # an iterable data set, keys that are no numbers: nothing is known
            return False
    return True


def _state(generator):
    if isinstance(generator, np.random.Generator):
        return repr(generator.bit_generator.state)
    if isinstance(generator, torch.Generator):
        return generator.get_state()
    return repr(generator.getstate() if isinstance(generator, random.Random) else generator.get_state())


def _equal(a, b) -> bool:
    return torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b


class _states_kept:
    """The process's random states as they were before."""

    def __enter__(self):
        self.before = random.getstate(), np.random.get_state(), torch.get_rng_state()

    def __exit__(self, *error):
        random.setstate(self.before[0])
        np.random.set_state(self.before[1])
        torch.set_rng_state(self.before[2])


def _seeded_alike(loader) -> dict | None:
    """A worker_init_fn that gives every worker the same state of a source that the samples draw from."""
    if loader.worker_init_fn is None or loader.num_workers < 2:
        return None
    drawn = _sources(loader.dataset)
    with _states_kept():
        seen = []
        for worker in (0, 1):
            torch.manual_seed(1000 + worker)      # as torch does, before it calls worker_init_fn
            random.seed(1000 + worker)
            np.random.seed(1000 + worker)
            try:
                loader.worker_init_fn(worker)
            except Exception:  # it may need to run in a worker
                return None
            seen.append(_process_states())
    alike = [name for name in drawn if _equal(seen[0][name], seen[1][name])]
    return {"kind": "seeded", "name": getattr(loader.worker_init_fn, "__name__", "worker_init_fn"), "generator": alike[0]} if alike else None


def _process_states() -> dict:
    return {"random": repr(random.getstate()), "numpy.random": repr(np.random.get_state()), "torch": torch.get_rng_state()}


def _sources(dataset) -> list[str]:
    """The process-wide sources that one sample of the data set draws from."""
    twin = copy.copy(dataset)
    with _states_kept():
        before = _process_states()
        try:
            twin[0]
        except Exception:
            return []
        after = _process_states()
    return [name for name in before if not _equal(before[name], after[name])]
