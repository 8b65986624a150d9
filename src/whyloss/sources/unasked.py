"""A Monitor in a script that knows nothing of it: put on the modules that an optimizer updates, at its first step, or whose
weights are seen to change without one."""

import os
import sys
import time
import weakref
from pathlib import Path

from torch.optim.optimizer import register_optimizer_step_pre_hook

from whyloss.sources import names
from whyloss.sources.unstepped import Unstepped


class Watching:
    """The monitors of a process. folder: where the ledger goes; the second model's goes to folder/2, and so on.

    freeze  training steps are saved there too: the first ones, and more when something goes badly wrong
    """

    def __init__(self, folder: Path, *, budget: float = 0.01, freeze: bool = False):
        self.folder, self.budget, self.freeze = Path(folder), budget, freeze
        self.monitors: list = []
        self.known: dict[int, weakref.ref] = {}
        self.problem: str | None = None
        self.began = time.time() - 0.1   # a file system's clock goes in jumps
        self.processes, self.forked = {os.getpid()}, None   # that train; forked: called once in each that was forked and steps
        self.undo = register_optimizer_step_pre_hook(self._first_step).remove
        self.unstepped = Unstepped(self._changed)

    def _first_step(self, optimizer, args, kwargs) -> None:
        """An optimizer steps: if it is new, find what it trains. Never raises."""
        held = self.known.get(id(optimizer))
        if held is not None and held() is optimizer:
            return
        try:
            self.unstepped.stop()
            self.known[id(optimizer)] = weakref.ref(optimizer)
            updated = {id(p) for group in optimizer.param_groups for p in group["params"]}
            self._watch(lambda module: updated & {id(p) for p in module.parameters()})
        except Exception as error:
            self._fail(error)

    def _changed(self, modules: list) -> None:
        """The weights of these changed, and no optimizer of torch stepped. Never raises."""
        try:
            self._watch(lambda module: any(module is one for one in modules))
        except Exception as error:
            self._fail(error)

    def _watch(self, trained) -> None:
        """trained: whether a module is"""
        from whyloss.sources.monitor import Monitor

        if os.getpid() not in self.processes:  # a rank that was forked; its parent's monitors are not its own
            self.processes, self.monitors = {os.getpid()}, []
            if self.forked is not None:
                self.forked()
        watched = {id(p) for monitor in self.monitors for p in monitor.model.parameters()}
        for module in names.owners():
            own = {id(p) for p in module.parameters()}
            if own <= watched or not trained(module):
                continue
            number = len(self.monitors) + 1
            folder = self.folder if number == 1 else self.folder / str(number)
            monitor = Monitor(module, budget=self.budget, run=folder, freeze=folder if self.freeze else None).attach()
            if self.freeze:
                monitor.freeze(folder)  # its beginning, whatever comes: it is the state from which most experiments start
            self.monitors.append(monitor)

    def _fail(self, error: Exception) -> None:
        if self.problem is None:
            self.problem = f"{type(error).__name__}: {error}"
            print(f"whyloss: not watching: {self.problem}", file=sys.stderr)

    @property
    def first_rank(self) -> bool:
        """Whether this process trained, as the only one or the first of several."""
        return any(monitor._rank == 0 for monitor in self.monitors)

    def close(self) -> None:
        """The script is over: the ledgers are completed."""
        self.undo()
        self.unstepped.stop()
        for monitor in self.monitors:
            monitor.close()


def written_since(folder: Path, began: float) -> list[Path]:
    """Folders in it, itself included, in which a ledger was written since then, at most four."""
    try:
        files = [file for pattern in ("*.db", "*/*.db") for file in folder.glob(pattern) if max(f.stat().st_mtime for f in _with_log(file)) >= began]
    except OSError:
        return []
    return sorted({file.parent for file in files})[:4]


def _with_log(file: Path) -> list[Path]:
    """A ledger's file, and its log where there is one."""
    log = file.with_name(file.name + "-wal")
    return [file, log] if log.exists() else [file]


def summary(watching: Watching) -> str:
    """One line on what was watched, for the end of a run."""
    if not watching.monitors:
        others = written_since(watching.folder, watching.began)
        if others and not watching.problem:
            return "this process trained nothing; what its workers trained: " + "; ".join(f"whyloss health {folder}" for folder in others)
        return watching.problem or "nothing was watched: no optimizer of torch stepped, and no weight changed from one backward to the next"
    steps = max(m.cost.steps for m in watching.monitors)
    alerts = sum(len(m.alerts) for m in watching.monitors)
    share = max(m.cost.share for m in watching.monitors)
    sampled = max(m.cost.sampled for m in watching.monitors)
    beside = [m.ledger.file.parent for m in watching.monitors if getattr(m.ledger, "beside", None)]
    where = beside[0] if beside else watching.folder
    return f"watched {steps} steps ({sampled} measured, {share:.1%} of the time), {alerts} alerts; whyloss health {where}" + \
        "".join(f"; whyloss diagnose {file}" for m in watching.monitors for file in m.frozen)
