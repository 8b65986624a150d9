"""A Monitor that a framework's events switch on and off: what all callbacks share.

Nothing in here changes the training, and no mistake in here ends it.
"""

import functools
import os
import sys
import weakref

import torch

from whyloss.quantities import QUANTITIES
from whyloss.sources.monitor import Monitor

FOLDER = "whyloss"     # inside the framework's own folder for logs
VALIDATION = (QUANTITIES["val_loss"].name, *QUANTITIES["val_loss"].aliases)


def aside(event):
    """For an event of a framework: what goes wrong inside is told once, ends the watching, and reaches nobody."""
    @functools.wraps(event)
    def guarded(self, *args, **kwargs):
        try:
            return event(self, *args, **kwargs)
        except Exception as error:
            watching = getattr(self, "watching", self)
            if watching.problem is None:
                watching.problem = f"{type(error).__name__}: {error}"
                print(f"whyloss: problem: watching was switched off, the training goes on: {watching.problem}", file=sys.stderr)
            watching.end()
    return guarded


class Watching:
    """Holds the options of a Monitor until there is a model to watch, and the Monitor from then on.

    run       folder for the ledger; None: the framework's own folder for logs, where it has one; False: no ledger
    val_loss  the name under which the framework logs the validation loss; None: one of the usual names
    monitor   of the training that runs, or ran last; None before the first
    """

    def __init__(self, *, run=None, val_loss: str | None = None, writers=(), on_alert=None, **options):
        self.run, self.names = run, (val_loss,) if val_loss else VALIDATION
        self.writers, self.on_alert, self.options = tuple(writers), on_alert, options
        self.monitor: Monitor | None = None
        self.problem: str | None = None
        Monitor(torch.nn.Module(), **options)  # an option that does not exist is told here, not when the training begins

    def begin(self, model, *, folder=None, step: int | None = None, writers=()) -> Monitor:
        """Watch from now on. folder: of the framework's logs, or None; step: optimizer steps done before, None: go on counting"""
        if step is None:
            step = self.monitor.step if self.monitor is not None and self.monitor.model is model else 0
        self.end()
        run = self.run if self.run else os.path.join(folder, FOLDER) if folder and self.run is None else None
        writers = (*self.writers, *writers)
        # every optimizer that updates the model is heard: frameworks wrap them, and may make new ones
        self.monitor = Monitor(model, run=run, writers=writers, on_alert=self.on_alert, **self.options)
        self.monitor.step = step
        self.monitor.attach()
        # most frameworks tell of no end when a training is interrupted: the ledger is closed with the program
        self._closing = weakref.finalize(self, self.monitor.close)
        return self.monitor

    def end(self) -> None:
        """Watch no more. What was seen stays readable in `monitor`."""
        if self.monitor is not None:
            self._closing.detach()
            self.monitor.close()

    @property
    def on(self) -> bool:
        return self.monitor is not None and self.monitor.attached

    def validated(self, values, step: int | None = None) -> None:
        """values: what the framework logged after a validation, name -> number; step: None for now"""
        found = next((values[name] for name in self.names if values and name in values), None)
        if found is not None and self.on:
            self.monitor.validation(step, float(found))

    # Callbacks are copied and saved with their trainer; a monitor, a writer and a function of the user's may not be.
    def __getstate__(self):
        return {**vars(self), "monitor": None, "writers": (), "on_alert": None, "_closing": None}


class Groups:
    """What a Monitor asks of an optimizer, for optimizers that are none of torch's.

    groups: function -> [(learning rate, parameters)], asked anew each time, since layers are frozen and unfrozen;
    grad_scale: 0-d tensor that the gradients are multiplied by, or None
    """

    def __init__(self, groups):
        self._groups = groups
        self.grad_scale: torch.Tensor | None = None

    @property
    def param_groups(self) -> list[dict]:
        return [{"lr": rate, "params": list(parameters)} for rate, parameters in self._groups()]


def stand_in(optimizer, groups) -> Groups:
    """Named as the optimizer it stands for is."""
    return type(type(optimizer).__name__, (Groups,), {})(groups)
