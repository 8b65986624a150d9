"""Lightning: `Trainer(callbacks=[WhylossCallback()])`, of `lightning` and of `pytorch_lightning`."""

import os
import sys

from whyloss.integrations.watching import Watching, aside

try:  # the two packages have the same classes twice: derive from those that the program uses
    BASES = [sys.modules[name].Callback for name in ("lightning.pytorch", "pytorch_lightning") if hasattr(sys.modules.get(name), "Callback")]
    if not BASES:
        from lightning.pytorch import Callback
        BASES = [Callback]
except ImportError:
    try:
        from pytorch_lightning import Callback
    except ImportError as error:
        raise ImportError('WhylossCallback needs Lightning: pip install "whyloss[lightning]"') from error
    BASES = [Callback]


class WhylossCallback(*BASES):
    """Watches each `fit`. Options are those of whyloss.Monitor.

    run         folder for the ledger; None: `whyloss` in the folder of the first logger, without a logger none; False: none
    val_loss    name under which the validation loss is logged; None: val_loss, val/loss, valid_loss or eval_loss
    to_loggers  hand what is measured to the trainer's loggers too, as whyloss/grad_norm/net.0.weight; their batch is the step
    monitor     of the fit that runs, or ran last
    """

    def __init__(self, *, to_loggers: bool = False, **options):
        super().__init__()
        self.to_loggers = to_loggers
        self.watching = Watching(**options)

    @property
    def monitor(self):
        return self.watching.monitor

    @aside
    def on_train_start(self, trainer, pl_module) -> None:  # a checkpoint is restored by now
        writers = [_Loggers(trainer)] if self.to_loggers else []
        self.watching.begin(pl_module, folder=folder(trainer), step=trainer.global_step, writers=writers)

    @aside
    def on_validation_end(self, trainer, pl_module) -> None:
        if not trainer.sanity_checking:
            self.watching.validated(trainer.callback_metrics)

    @aside
    def on_train_end(self, trainer, pl_module) -> None:
        self.watching.end()

    @aside
    def on_exception(self, trainer, pl_module, exception) -> None:
        self.watching.end()


def folder(trainer) -> str | None:
    """Of the first logger's run. Without a question to other ranks, so not `trainer.log_dir`: that one waits for all of them."""
    if not trainer.loggers:
        return None
    saved = getattr(trainer.checkpoint_callback, "dirpath", None)
    if trainer.world_size > 1:  # Lightning has agreed on this folder already; a logger's version may differ between ranks
        return os.path.dirname(str(saved).rstrip("/")) if saved else trainer.default_root_dir
    logger = trainer.loggers[0]
    if getattr(logger, "log_dir", None):
        return logger.log_dir
    version = f"version_{logger.version}" if isinstance(logger.version, int) else logger.version
    return os.path.join(logger.save_dir or trainer.default_root_dir, *[part for part in (logger.name, version) if part])


class _Loggers:
    """Writes to the loggers of a trainer."""

    def __init__(self, trainer):
        self.loggers = trainer.loggers

    def __call__(self, step: int, values: dict[str, float]) -> None:
        for logger in self.loggers:
            logger.log_metrics({f"whyloss/{name}": value for name, value in values.items()}, step)
