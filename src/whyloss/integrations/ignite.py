"""Ignite: `attach(trainer, model)`; the loop is watched whenever the engine runs."""

from whyloss.integrations.watching import Watching, aside

try:
    from ignite.engine import Events
except ImportError as error:
    raise ImportError('attach needs Ignite: pip install "whyloss[ignite]"') from error


class Attached:
    """Handlers on an engine. monitor: of the run that goes on, or went last; `detach` takes them off."""

    def __init__(self, engine, model, evaluator=None, **options):
        self.model, self.watching = model, Watching(**options)
        # not EXCEPTION_RAISED: an engine with a handler for it raises its exceptions no more
        self.handles = [engine.add_event_handler(Events.STARTED, self._started)]
        self.handles += [engine.add_event_handler(event, self._ended) for event in (Events.COMPLETED, Events.TERMINATE)]
        if evaluator is not None:
            self.handles.append(evaluator.add_event_handler(Events.COMPLETED, self._evaluated))

    @property
    def monitor(self):
        return self.watching.monitor

    def detach(self) -> None:
        """Nothing is watched any more, nothing is left on the engines."""
        for handle in self.handles:
            handle.remove()
        self.watching.end()

    @aside
    def _started(self, engine) -> None:
        self.watching.begin(self.model, step=engine.state.iteration or None)

    @aside
    def _evaluated(self, evaluator) -> None:
        self.watching.validated(evaluator.state.metrics)

    @aside
    def _ended(self, engine, *args) -> None:
        self.watching.end()


def attach(engine, model, *, evaluator=None, val_loss: str = "loss", **options) -> Attached:
    """Watch `model` while `engine` runs. Options are those of whyloss.Monitor. -> what detaches it

    evaluator  engine whose metric `val_loss` is the validation loss, if there is one
    run        folder for the ledger; Ignite has no folder for logs of its own: None is none
    A resumed engine goes on at its iteration, which is the step where an iteration makes one step.
    """
    return Attached(engine, model, evaluator, val_loss=val_loss, **options)
