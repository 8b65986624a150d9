"""Hugging Face: `Trainer(callbacks=[WhylossCallback()])`, and the trainers that derive from it."""

from whyloss.integrations.watching import Watching, aside

try:
    from transformers import TrainerCallback
except ImportError as error:
    raise ImportError('WhylossCallback needs transformers: pip install "whyloss[transformers]"') from error


class WhylossCallback(TrainerCallback):
    """Watches each `train`. Options are those of whyloss.Monitor.

    run       folder for the ledger; None: `whyloss` in the output_dir; False: none
    val_loss  name of the validation loss among the metrics; None: eval_loss
    monitor   of the training that runs, or ran last
    """

    def __init__(self, **options):
        self.watching = Watching(**options)

    @property
    def monitor(self):
        return self.watching.monitor

    @aside
    def on_train_begin(self, args, state, control, model=None, **kwargs) -> None:
        self.watching.begin(model, folder=args.output_dir, step=state.global_step)

    @aside
    def on_evaluate(self, args, state, control, metrics=None, **kwargs) -> None:
        self.watching.validated(metrics, state.global_step)

    @aside
    def on_train_end(self, args, state, control, **kwargs) -> None:
        self.watching.end()
