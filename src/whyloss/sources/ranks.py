"""What one rank of a distributed training writes down, so that reading can compare it with the others.

Nothing is exchanged while the training runs: a collective of ours could deadlock it. Ranks are compared at moments that
the training itself has in common: the n-th backward whose gradients are averaged. Which of them are sampled depends on n
alone, so every rank samples the same ones.
"""

import os
import socket
from dataclasses import dataclass, field
from pathlib import Path

import torch

from whyloss.evidence import Evidence
from whyloss.sources import place, sketch
from whyloss.sources.ledger import Ledger
from whyloss.sources.shards import is_sharded, local
from whyloss.sources.structure import tensors_in
from whyloss.sources.window import storage

DENSE = 16        # the first so many averaged backwards are all sampled, then every fourth more
LARGE = 0.3       # a collective over so large a share of the parameters exchanges gradients or weights
KEPT = ("calls", "raised", "totals", "optimizer")  # what else a rank's file holds
HOOKS = ("allreduce_hook", "fp16_compress_hook", "bf16_compress_hook", "powerSGD_hook", "batched_powerSGD_hook", "fp16_compress_wrapper",
         "bf16_compress_wrapper")  # communication hooks that leave the same gradient on every rank


def _sparse():
    at = DENSE
    while at < 2**48:
        yield at
        at += at // 4


_SPARSE = frozenset(_sparse())


def due(count: int) -> bool:
    """Whether the count-th event is sampled: 0 to 15, then 16, 20, 25, 31, ..."""
    return count < DENSE or count in _SPARSE


@dataclass
class Replica:
    """Parameters that several ranks keep alike: those of one wrapper, or those whose gradients the loop averages by hand."""

    name: str
    kind: str
    group: list[int]
    where: str | None = None
    module: object = None
    parameters: list = field(default_factory=list)
    ids: set = field(default_factory=set)
    names: list = field(default_factory=list)
    hook: str | None = None
    syncs: int = 0            # backward passes whose gradients were averaged
    armed: bool = False       # the next backward will average
    bypassed: dict = field(default_factory=dict)   # line of a forward past the wrapper -> backward passes
    unsynced: int = 0         # forward passes under no_sync
    by_hand: int = 0          # gradients averaged by the loop itself
    averaged: int = 0         # weights averaged (or sent) by the loop itself
    reduced: int = 0          # optimizer steps on averaged gradients
    alone: int = 0            # optimizer steps on gradients of this rank only
    fresh: bool = False       # averaged since the last step
    own: bool = False         # not averaged since the last step
    batch: dict | None = None
    statistics: dict = field(default_factory=dict)

    def fact(self) -> dict:
        return {"kind": self.kind, "group": self.group, "place": self.where, "hook": self.hook, "syncs": self.syncs, "bypassed": self.bypassed,
                "unsynced": self.unsynced, "by_hand": self.by_hand, "averaged": self.averaged, "reduced": self.reduced, "alone": self.alone}


class Ranks:
    """Part of a Watch. `folder`: where the ranks' files meet; None = they do not."""

    def __init__(self, watch):
        self.watch = watch
        self.rank, self.world = 0, 1
        self.folder: Path | None = None
        self.file: Ledger | None = None
        self.on_group = None                   # called when a process group was formed
        self.on_end = None                     # called before it is given up, in a process that belongs to somebody else
        self.replicas: dict[int, Replica] = {}
        self.by_hand: Replica | None = None
        self.inside: Replica | None = None     # the wrapper whose forward runs and is sampled
        self.called: str | None = None         # line of the last training forward that went past its wrapper
        self.loaders: dict[int, dict] = {}
        self.loader: dict | None = None        # of the last loader that was iterated

    # ------------------------------------------------------------------ who am I
    def know(self) -> bool:
        """Whether this process is one of several ranks."""
        if self.world > 1:
            return True
        distributed = torch.distributed
        if not distributed.is_available() or not distributed.is_initialized():
            return False
        self.world = distributed.get_world_size()
        if self.world > 1:
            self.rank = distributed.get_rank()
            self.watch.observe("rank", {"rank": self.rank, "world": self.world, "host": socket.gethostname(), "pid": os.getpid(),
                                        "backend": str(distributed.get_backend())}, step=0)
            if self.folder is not None:
                self.file = Ledger(self.folder, f"rank-{self.rank:05d}.db")
                (self.folder / f"rank-{self.rank:05d}.pid").write_text(f"{socket.gethostname()} {os.getpid()} {self.world}")
        return self.world > 1

    def wrapped(self, module, where) -> None:
        """DistributedDataParallel was built around a model."""
        if not self.know():
            return
        ignored = getattr(module, "parameters_to_ignore", ())
        kept = {name: p for name, p in module.module.named_parameters() if name not in ignored and p.requires_grad}
        self.replicas[id(module)] = Replica(self._name("DistributedDataParallel"), "DistributedDataParallel", _group(module.process_group), where,
                                            module, list(kept.values()), {id(p) for p in kept.values()}, list(kept))

    def _name(self, kind: str) -> str:
        same = sum(r.kind == kind for r in self.replicas.values())
        return kind + (f"#{same + 1}" if same else "")

    def hooked(self, module, hook) -> None:
        known = self.replicas.get(id(module))
        if known is not None:
            known.hook = getattr(hook, "__name__", type(hook).__name__)

    # ------------------------------------------------------------------ forward
    def enters(self, module, args, kwargs, where: str | None = None) -> None:
        """A module is about to run with gradients on: a wrapper, or a model past it."""
        if not self.know() or not torch.is_grad_enabled():
            return
        module = getattr(module, "_orig_mod", module)  # compiled
        known = self.replicas.get(id(module))
        if known is None and is_sharded(module):
            known = self.replicas[id(module)] = Replica(self._name("fully_shard"), "fully_shard", _mesh(module, self.world), None, module,
                                                        list(module.parameters()), {id(p) for p in module.parameters()})
        if known is None:
            self.called = self._caller(module)
            known = self._of_the_loop()
            if self.replicas or not due(self.watch.window_count):
                return
        elif known.kind == "fully_shard" or module.require_backward_grad_sync or getattr(module, "_use_python_reducer", False):
            known.armed = True
        else:
            known.unsynced += 1
        if due(known.syncs):
            self.inside = known if known.kind == "DistributedDataParallel" else None
            known.statistics = {}
            known.batch = {**sketch.batch([t for t in tensors_in((args, kwargs))][:8]), "place": where}

    def before_copy(self, module) -> None:
        """A copy that runs a collective would wait for ranks that are gone: such a model is not replayed."""
        program = self.watch.program
        if self.world > 1 and program.problem is None and any(type(part).__name__ == "SyncBatchNorm" for part in module.modules()):
            program.problem = "SyncBatchNorm needs every rank: one alone cannot run the step again"

    def inner(self, name: str, module, args, kwargs) -> None:
        """A module inside the outermost one is about to run: another wrapper, or a batch normalisation."""
        if id(module) in self.replicas:
            self.enters(module, args, kwargs)
        elif self.inside is not None:
            self.normalises(name, module, args)

    def normalises(self, name: str, module, args) -> None:
        """A batch normalisation runs inside a sampled forward."""
        if module.training and args and isinstance(args[0], torch.Tensor) and args[0].dim() >= 2 and type(module).__name__.startswith("BatchNorm"):
            self.inside.statistics.setdefault(name.removeprefix("module."), sketch.statistics(args[0]))

    def leaves(self) -> None:
        self.inside = None

    def _caller(self, module) -> str | None:
        """The line that called the model, or one of its methods, from outside of it."""
        inner = {id(part) for r in self.replicas.values() if r.kind == "DistributedDataParallel" for part in r.module.module.modules()}
        if id(module) not in inner:
            return self.called
        for frame in place.user_frames(3):
            if id(frame.f_locals.get("self")) not in inner:
                return f"{place.shown(frame.f_code.co_filename)}:{frame.f_lineno}"
        return None

    def _of_the_loop(self) -> Replica:
        """The replica that the loop itself would have to keep alike: everything that trains here."""
        if self.by_hand is None:
            self.by_hand = Replica("run", "by hand", list(range(self.world)))
        return self.by_hand

    # ------------------------------------------------------------------ backward and step
    def before_backward(self, reached, where, value: float) -> None:
        if not self.know():
            return
        for known in self.replicas.values():
            if not any(id(leaf) in known.ids for leaf in reached):
                continue
            if known.kind == "fully_shard":
                self._batch(known, value)
                known.syncs, known.fresh = known.syncs + 1, True
            elif known.armed:
                self._sample("rank_weights", known, known.parameters, known.syncs)
                self._batch(known, value)
            else:
                known.own = True
                if known.unsynced == 0 or self.called is not None:
                    line = self.called or where or "?"
                    known.bypassed[line] = known.bypassed.get(line, 0) + 1
        if any(not any(id(leaf) in r.ids for r in self.replicas.values()) for leaf in reached):
            loop = self._of_the_loop()
            loop.own = True
            self.last_loss = value

    def _batch(self, known: Replica, value: float) -> None:
        if known.batch is not None and due(known.syncs):
            loader = {"loader": self.loader} if self.loader else {}
            self.watch.observe("rank_batch", {**known.batch, "loss": value, **loader}, known.name, known.syncs)
            for layer, row in known.statistics.items():
                self.watch.observe("rank_statistics", row, layer, known.syncs)
        known.batch, known.statistics = None, {}

    def after_backward(self, reached) -> None:
        for known in self.replicas.values():
            if known.armed and known.kind == "DistributedDataParallel" and any(id(leaf) in known.ids for leaf in reached):
                self._sample("rank_gradients", known, [p.grad for p in known.parameters], known.syncs)
                known.syncs, known.armed, known.fresh = known.syncs + 1, False, True
        self.called = None

    def before_step(self, optimizer) -> None:
        if not self.know():
            return
        held = [p for group in optimizer.param_groups for p in group["params"]]
        rates = [float(g["lr"]) for g in optimizer.param_groups if isinstance(g.get("lr"), (int, float, torch.Tensor))]
        for known in [*self.replicas.values(), *([self.by_hand] if self.by_hand else [])]:
            if known is not self.by_hand and not any(id(p) in known.ids for p in held) or known.kind == "fully_shard":
                continue
            if known.fresh:
                self._sample("rank_step_gradients", known, [p.grad for p in self._parameters(known)], known.syncs - 1, rates=rates)
                known.reduced += 1
            elif known.own:
                self._sample("rank_alone", known, self._parameters(known), known.alone)
                known.alone += 1
            known.fresh = known.own = False

    def _parameters(self, known: Replica) -> list:
        return known.parameters or sorted(self.watch.gradients.parameters.values(), key=self.watch.name)

    def _sample(self, quantity: str, known: Replica, tensors: list, at: int, **more) -> None:
        if due(at):
            self.watch.observe(quantity, {"values": sketch.weights(tensors), "steps": self.watch.step_count, **more}, known.name, at)

    # ------------------------------------------------------------------ what the loop exchanges itself
    def exchanged(self, tensors) -> None:
        """The loop calls a collective of its own: on gradients, on weights, or on a flat copy of either."""
        if not self.know():
            return
        parameters = self.watch.gradients.parameters.values()
        spaces = {storage(local(t)) for t in tensors}
        total = sum(p.numel() for p in parameters)
        flat = total and sum(t.numel() for t in tensors) >= LARGE * total
        of_gradients = any(p.grad is not None and storage(local(p.grad)) in spaces for p in parameters)
        of_weights = any(storage(local(p)) in spaces for p in parameters)
        every = [*self.replicas.values(), self._of_the_loop()]
        if of_gradients or flat and not of_weights and not self.watch.stepped_since_backward:
            self._averaged_by_hand(every)
        elif of_weights or flat:
            for known in every:
                known.averaged += 1 if self.watch.window_count else 0

    def _averaged_by_hand(self, every: list[Replica]) -> None:
        loop = self.by_hand
        if not loop.fresh and not self.replicas:
            self._sample("rank_weights", loop, self._parameters(loop), loop.syncs)
            self._batch(loop, getattr(self, "last_loss", 0.0))
            loop.syncs += 1
        for known in every:
            known.by_hand += not known.fresh
            known.fresh = True

    def loader_made(self, loader, where) -> None:
        if self.know() and where is not None:
            self.loaders[id(loader)] = {"place": where, "sampler": type(getattr(loader, "sampler", None)).__name__}

    def loader_used(self, loader) -> None:
        self.loader = self.loaders.get(id(loader), self.loader)

    # ------------------------------------------------------------------ the end
    def at_the_end(self) -> None:
        if self.world < 2:
            return
        watch = self.watch
        for known in [*self.replicas.values(), *([self.by_hand] if self.by_hand else [])]:
            names = known.names or ([watch.name(p) for p in self._parameters(known)] if known.kind != "fully_shard" else [])
            trusted = known.hook is None or known.hook in HOOKS
            sampler = (self.loader or {}).get("sampler")
            watch.observe("rank_replica", {**known.fact(), "names": names, "trusted": trusted, "sampler": sampler}, known.name)

    def write(self, evidence: Evidence, latest: Evidence) -> None:
        """This rank's file: the fingerprints, and the facts that are compared."""
        if self.file is not None:
            self.file.write(_only(evidence), _only(latest))

    def close(self) -> None:
        """The last of this rank's file; then the mark that says so."""
        if self.file is not None:
            self.write(self.watch.evidence, Evidence())
            self.file.close()
            (self.folder / f"rank-{self.rank:05d}.done").write_text(self.file.problem or "")


def _only(evidence: Evidence) -> Evidence:
    chosen = Evidence()
    chosen._columns = {key: c for key, c in evidence.columns() if key[1].startswith("rank") or key[1] in KEPT}
    return chosen


def _group(group) -> list[int]:
    return sorted(torch.distributed.get_process_group_ranks(group))


def _mesh(module, world: int) -> list[int]:
    """The ranks over which a fully sharded module divides the batch."""
    try:
        return sorted(module._get_fsdp_state()._fsdp_param_group.mesh_info.mesh.mesh.flatten().tolist())
    except AttributeError:
        return list(range(world))
