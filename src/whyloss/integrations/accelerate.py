"""Accelerate: `with watch(accelerator, model): ...` around the loop, with the model that `prepare` gave."""

import os

from whyloss.integrations.watching import FOLDER
from whyloss.sources.monitor import Monitor


def watch(accelerator, model, optimizer=None, *, run=None, writers=(), on_alert=None, **options) -> Monitor:
    """Watch from now on. -> the Monitor, attached: a context manager, or to be closed; `monitor.validation(None, loss)` tells a validation loss

    model      as `accelerator.prepare` returned it; optimizer: one, several, or None: every optimizer that updates the model
    run        folder for the ledger; None: `whyloss` in the accelerator's logging_dir, where it has one; False: none
    """
    folder = getattr(accelerator, "logging_dir", None)
    run = run if run else os.path.join(folder, FOLDER) if folder and run is None else None
    return Monitor(model, optimizer, run=run, writers=tuple(writers), on_alert=on_alert, **options).attach()
