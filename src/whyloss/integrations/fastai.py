"""fastai: `Learner(..., cbs=WhylossCallback())` or `learn.fit(3, cbs=WhylossCallback())`.

fastai's optimizers have no hooks as torch's have: their steps are seen by the callback's own events.
"""

from whyloss.integrations.watching import Watching, aside, stand_in

try:
    from fastai.callback.core import Callback
except ImportError as error:
    raise ImportError('WhylossCallback needs fastai: pip install "whyloss[fastai]"') from error


class WhylossCallback(Callback):
    """Watches each `fit`, not `lr_find`. Options are those of whyloss.Monitor.

    run       folder for the ledger; fastai has no folder for logs of its own: None is none
    val_loss  name of the validation loss in the recorder; None: valid_loss
    monitor   of the fit that runs, or ran last
    Under mixed precision with a gradient scaler an updated step is seen, a skipped one is not.
    """

    order, run_valid = 95, False  # after the callbacks that clip gradients, cancel a step, or write the record

    def __init__(self, **options):
        super().__init__()
        self.watching, self.stands_in, self.stepping = Watching(**options), None, False
        self.begun = False

    @property
    def monitor(self):
        return self.watching.monitor

    def before_fit(self) -> None:
        # a search for a learning rate must diverge, and predictions are no training
        self.run, self.begun = not hasattr(self.learn, "lr_finder") and not hasattr(self.learn, "gather_preds"), False

    @aside
    def before_train(self) -> None:  # not before_fit: validating alone is a fit to fastai too
        if not self.begun:
            self.begun = True
            self.watching.begin(self.learn.model)
            self.stands_in = stand_in(self.learn.opt, self._groups)

    def _groups(self) -> list[tuple]:
        opt = self.learn.opt
        return [(hyper.get("lr"), [p for p in group if p.requires_grad]) for hyper, group in zip(opt.hypers, opt.param_lists)]

    @aside
    def before_step(self) -> None:
        # an optimizer of torch's in fastai's wrapper is heard by its own hooks
        self.stepping = self.watching.on and not hasattr(self.learn.opt, "opt")
        if self.stepping:
            self.monitor.before_step(self.stands_in, (), {})

    @aside
    def after_step(self) -> None:  # comes after a cancelled step too
        if self.stepping:
            self.stepping = False
            self.monitor.after_step(self.stands_in)

    @aside
    def after_epoch(self) -> None:
        recorder = getattr(self.learn, "recorder", None)
        if recorder is not None and self.watching.on:
            self.watching.validated(dict(zip(recorder.metric_names[1:], self.learn.final_record)))

    @aside
    def after_fit(self) -> None:
        self.stands_in = None  # a Learner is exported with its callbacks
        self.watching.end()
