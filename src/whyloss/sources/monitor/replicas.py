"""What a monitored rank tells of itself, so that reading can compare it with the others: fingerprints of weights, gradients, batches and
batch statistics, beside the frames of its ledger.

Nothing is exchanged while the training runs: a collective of ours could deadlock it. Ranks are compared at moments that the
training itself has in common, the n-th backward whose gradients are averaged; n alone says which of them are taken, ever fewer.
"""

import functools
import gc
import hashlib
import os
from dataclasses import dataclass, field
from time import perf_counter

import torch

from whyloss.sources import place, sketch
from whyloss.sources.gradients import leaves_of
from whyloss.sources.monitor.taps import closed_because, plain
from whyloss.sources.ranks import HOOKS, LARGE, Replica, _group, _mesh, due
from whyloss.sources.shards import is_sharded, local
from whyloss.sources.structure import tensors_in
from whyloss.sources.window import storage

ROWS = 256         # fingerprints of one moment: neighbouring parameters of a model with more of them share one
LOOKS = 16         # steps after which no wrapper is searched for any more
LAUNCH = ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "SLURM_JOB_ID", "MASTER_ADDR", "MASTER_PORT")


def told(monitor) -> "Replicas | None":
    """Tell the ledger which rank this is. -> what hears the wrappers; None in a training of one process, or without a ledger"""
    if monitor._world < 2 or not hasattr(monitor.ledger, "observe"):
        return None
    launch = [os.environ.get(name, "") for name in LAUNCH]
    same = {"launch": hashlib.sha256("|".join(launch).encode()).hexdigest()[:12]} if launch[-1] else {}
    monitor.ledger.observe("rank", {"rank": monitor._rank, "world": monitor._world, **same})
    return Replicas(monitor)


@dataclass
class Held(Replica):
    """A wrapper and what was heard of it."""

    entered: bool = False     # its forward ran, and no backward since
    called: str | None = None  # line of a forward past it, since the last backward
    reaches: bool = True      # whether a backward that it did not prepare ends in its parameters, as far as was looked
    doors: list = field(default_factory=list)
    windows: list = field(default_factory=list)   # hooks on modules inside, in sampled steps only


class Door:
    """A forward pre-hook that a copied or pickled model does not take along."""

    def __init__(self, hear):
        self.hear = hear

    def __call__(self, module, args, kwargs=None):
        if not torch.compiler.is_compiling() and torch.is_grad_enabled():
            self.hear(module, args, kwargs or {})

    def __deepcopy__(self, memo):
        return Shut()

    def __reduce__(self):
        return Shut, ()


class Shut:
    """What stands for a door in a copy."""

    def __call__(self, module, args, kwargs=None):
        return None


def _paid(method):
    """Its seconds are watching's own, and its errors switch watching off."""
    @functools.wraps(method)
    def inner(self, *args):
        if not self.monitor.attached:
            return
        began = perf_counter()
        try:
            method(self, *args)
        except Exception as error:
            self.monitor._fail(error)
        finally:
            seconds = perf_counter() - began
            self.monitor.pace.since += seconds
            if self.taken:  # ever fewer of them: counted as watching's own, but the samples of the frames do not pay for them
                self.taken = False
                self.monitor.pace.bucket.owed -= seconds
    return inner


class Replicas:
    """The data-parallel wrappers of one monitored model."""

    def __init__(self, monitor):
        self.monitor = monitor
        self.held: dict[int, Held] = {}
        self.holds: dict[tuple, bool] = {}
        self.steps = self.backwards = 0
        self.taken = False                    # whether a fingerprint was taken
        self.spaces: tuple | None = None      # memory of gradients and weights, since the last backward
        self.look()

    # ------------------------------------------------------------------ what there is
    def look(self) -> None:
        """Find the wrappers of the model, or around it."""
        for module in _wrappers(self.monitor.model):
            if id(module) in self.held:
                continue
            if is_sharded(module):
                parameters = dict(module.named_parameters())
                held = Held("fully_shard", "fully_shard", _mesh(module, self.monitor._world), None, module)
            else:
                ignored = getattr(module, "parameters_to_ignore", ())
                parameters = {name: p for name, p in module.module.named_parameters() if name not in ignored and p.requires_grad}
                number = sum(h.kind == "DistributedDataParallel" for h in self.held.values())
                held = Held("DistributedDataParallel" + (f"#{number + 1}" if number else ""), "DistributedDataParallel",
                            _group(module.process_group), None, module)
            held.parameters, held.ids = list(parameters.values()), {id(p) for p in parameters.values()}
            held.names = [plain(name) for name in parameters]
            held.syncs = int(any(p.grad is not None for p in held.parameters))  # watched from its first step on: a backward is over
            held.doors.append(module.register_forward_pre_hook(Door(functools.partial(self.enters, held)), with_kwargs=True))
            self.held[id(module)] = held
            self._open_windows(held)

    def _open_windows(self, held: Held) -> None:
        """Before a step that is sampled: hear the model inside the wrapper, and its batch normalisations."""
        wanted = held.kind == "DistributedDataParallel" and due(held.syncs + held.alone)
        if wanted and not held.windows:
            inside = held.module.module
            if any(closed_because(part) for part in inside.modules()):
                return  # a hook would make it compile again
            held.windows.append(inside.register_forward_pre_hook(Door(functools.partial(self.passes, held)), with_kwargs=True))
            for name, part in inside.named_modules():
                if type(part).__name__.startswith("BatchNorm"):
                    held.windows.append(part.register_forward_pre_hook(Door(functools.partial(self.normalises, held, name)), with_kwargs=True))
        elif not wanted and held.windows:
            self._shut_windows(held)

    @staticmethod
    def _shut_windows(held: Held) -> None:
        while held.windows:
            held.windows.pop().remove()

    def close(self) -> None:
        """Take every hook off, and tell what was counted."""
        for held in self.held.values():
            self._shut_windows(held)
            while held.doors:
                held.doors.pop().remove()
            self._tell(held)
        self.held = {}

    # ------------------------------------------------------------------ forward
    @_paid
    def enters(self, held: Held, module, args, kwargs) -> None:
        """The wrapper's own forward begins."""
        held.entered = True
        if held.kind == "fully_shard" or module.require_backward_grad_sync:
            held.armed = True
            if due(held.syncs):
                self.taken, held.statistics = True, {}
                held.batch = {**sketch.batch(list(tensors_in((args, kwargs)))[:8]), "place": place.here(4)}
        else:
            held.unsynced += 1

    @_paid
    def passes(self, held: Held, module, args, kwargs) -> None:
        """The model inside is called: by its wrapper, or past it."""
        if not held.entered and held.called is None:
            inner = {id(part) for part in module.modules()}
            frame = next((f for f in place.user_frames(4) if id(f.f_locals.get("self")) not in inner), None)
            held.called = frame and f"{place.shown(frame.f_code.co_filename)}:{frame.f_lineno}"

    @_paid
    def normalises(self, held: Held, name: str, module, args, kwargs) -> None:
        """A batch normalisation begins in a step that is sampled."""
        if held.armed and held.batch is not None and module.training and args and isinstance(args[0], torch.Tensor) and args[0].dim() >= 2:
            self.taken = True
            held.statistics.setdefault(plain(name), sketch.statistics(args[0]))

    # ------------------------------------------------------------------ backward and step
    @_paid
    def before_backward(self, tensors) -> None:
        self.backwards += 1
        self.spaces = None
        loss = tensors if isinstance(tensors, torch.Tensor) else next(iter(tensors), None)
        for held in self.held.values():
            entered, held.entered, called, held.called = held.entered, False, held.called, None
            if held.armed:
                if held.kind == "DistributedDataParallel":
                    self._sample("rank_weights", held, held.parameters, held.syncs)
                self._batch(held, loss)
                continue
            if due(held.alone) and isinstance(loss, torch.Tensor):   # not a GradientEdge
                held.reaches = any(id(leaf) in held.ids for leaf in leaves_of(loss)[0])
            if held.reaches:
                held.own = True
                if not entered:
                    line = called or (place.here(4) if due(held.alone) else None) or next(iter(held.bypassed), "?")
                    held.bypassed[line] = held.bypassed.get(line, 0) + 1

    def _batch(self, held: Held, loss) -> None:
        if held.batch is not None and due(held.syncs):
            value = float(loss.detach()) if isinstance(loss, torch.Tensor) and loss.numel() == 1 else 0.0
            self._observe("rank_batch", {**held.batch, "loss": value}, held.name, held.syncs)
            for layer, row in held.statistics.items():
                self._observe("rank_statistics", row, layer, held.syncs)
        held.batch, held.statistics = None, {}

    @_paid
    def after_backward(self) -> None:
        for held in self.held.values():
            if held.armed:
                if held.kind == "DistributedDataParallel":
                    self._sample("rank_gradients", held, [p.grad for p in held.parameters], held.syncs)
                held.syncs, held.armed, held.fresh = held.syncs + 1, False, True

    @_paid
    def before_step(self, optimizer, args, kwargs) -> None:
        if (len(args) > 1 or kwargs) and any(map(callable, (*args[1:], *kwargs.values()))):  # forward and backward are still to come
            return
        self.steps += 1
        if not self.held and self.steps < LOOKS:
            self.look()
        for key, held in self.held.items():
            if held.kind == "fully_shard" or not self._trains(optimizer, key, held):
                continue
            if held.fresh:
                groups = optimizer.param_groups if due(held.syncs - 1) else ()
                rates = [float(g["lr"]) for g in groups if isinstance(g.get("lr"), (int, float, torch.Tensor))]
                self._sample("rank_step_gradients", held, [p.grad for p in held.parameters], held.syncs - 1, rates=rates)
                held.reduced += 1
            elif held.own:
                self._sample("rank_alone", held, held.parameters, held.alone)
                held.alone += 1
            held.fresh = held.own = False
            if due(self.steps):
                self._tell(held)
            self._open_windows(held)

    def _trains(self, optimizer, key: int, held: Held) -> bool:
        """Whether the optimizer updates parameters of this wrapper."""
        known = self.holds.get((id(optimizer), key))
        if known is None:
            known = self.holds[id(optimizer), key] = any(id(p) in held.ids for group in optimizer.param_groups for p in group["params"])
        return known

    # ------------------------------------------------------------------ what the loop exchanges itself
    @_paid
    def exchanged(self, tensors) -> None:
        """The loop calls a collective of its own. On gradients or weights: then ranks may differ between its calls on purpose."""
        if not self.backwards:
            return
        for held in self.held.values():
            sizes = sum(p.numel() for p in held.parameters)
            flat = sum(t.numel() for t in tensors if t.is_floating_point()) >= LARGE * sizes
            if self.spaces is None:
                self.spaces = ({storage(local(p.grad)) for h in self.held.values() for p in h.parameters if p.grad is not None},
                               {storage(local(p)) for h in self.held.values() for p in h.parameters})
            mine = {storage(local(t)) for t in tensors} - {0}
            if mine & self.spaces[0] or flat and not mine & self.spaces[1] and held.own:
                held.by_hand += not held.fresh
                held.fresh = True
            elif mine & self.spaces[1] or flat:
                held.averaged += 1

    # ------------------------------------------------------------------ what is written
    def _sample(self, quantity: str, held: Held, tensors: list, at: int, **more) -> None:
        if due(at):
            values = sketch.weights(tensors)
            row = {"values": [float(f"{v:.9g}") for v in _in_rows(values)], "steps": held.reduced + held.alone, **more}
            self._observe(quantity, row, held.name, at)

    def _tell(self, held: Held) -> None:
        hooks = [getattr(entry[0], "__name__", type(entry[0]).__name__) for entry in getattr(held.module, "_comm_hooks", ())]
        held.hook = hooks[0] if hooks else None
        each = -(-len(held.names) // ROWS)
        names = held.names[::each] if held.kind == "DistributedDataParallel" and each else []
        trusted = held.hook is None or held.hook in HOOKS
        self._observe("rank_replica", {**held.fact(), "names": names, "trusted": trusted, "sampler": None}, held.name)

    def _observe(self, quantity: str, value: dict, subject: str, step: int = 0) -> None:
        self.taken = True
        if self.monitor.ledger is not None:
            self.monitor.ledger.observe(quantity, value, subject, step)


def _in_rows(values: list[float]) -> list[float]:
    """(parameters x 3) fingerprints, at most ROWS x 3: those of neighbours are added, norms as squares."""
    each = -(-len(values) // (3 * ROWS))
    if each < 2:
        return values
    found = []
    for at in range(0, len(values), 3 * each):
        part = values[at:at + 3 * each]
        signs = [1 - 2 * ((index * 2654435761 >> 7) & 1) for index in range(len(part) // 3)]
        found += [sum(norm * norm for norm in part[::3]) ** 0.5, *(sum(s * v for s, v in zip(signs, part[k::3])) for k in (1, 2))]
    return found


def _wrappers(model) -> list:
    """DistributedDataParallel in the model or around it, or the first sharded module of it."""
    from torch.nn.parallel import DistributedDataParallel

    parts = list(model.modules())
    found = [part for part in parts if isinstance(part, DistributedDataParallel)] or [part for part in parts if is_sharded(part)][:1]
    if found or any(type(part).__name__ == "OptimizedModule" for part in parts[:1]):
        return [] if type(model).__name__ == "OptimizedModule" else found  # compiled with its wrapper: no hook may enter a graph
    own = {id(p) for p in parts[0].parameters()}
    return [thing for thing in gc.get_objects() if issubclass(type(thing), DistributedDataParallel)
            and any(id(p) in own for p in thing.parameters())]
