"""What a Monitor measures, in the tracker that the user looks at anyway: `Monitor(..., writers=[WandbWriter()])`.

Names are those of the ledger behind a prefix: whyloss/grad_norm/layers.0.weight. A tracker that fails is told of once and
left alone; watching and training go on. With a plain Monitor alerts are passed on by `on_alert=writer.alert`; the callbacks of
the frameworks do that by themselves.
"""

import importlib
import re
import sys
import time


class Writer:
    """One tracker. only: these quantities, None: all. A subclass writes: `_write(step, values)`, `_alert(alert)`, `_open()` before the first."""

    package = extra = ""

    def __init__(self, *, only=None, prefix: str = "whyloss/"):
        self.only, self.prefix = None if only is None else tuple(only), prefix
        self.problem: str | None = None
        self.opened = False
        try:
            self.module = importlib.import_module(self.package)
        except ImportError as error:
            raise ImportError(f'{type(self).__name__} needs {self.extra}: pip install "whyloss[{self.extra}]" ({error})') from error

    def __call__(self, step: int, values: dict[str, float]) -> None:
        """values: "quantity/subject" -> number"""
        wanted = {self.prefix + name: value for name, value in values.items() if self.only is None or name.split("/", 1)[0] in self.only}
        if wanted:
            self._aside(self._write, step, wanted)

    def alert(self, alert) -> None:
        self._aside(self._alert, alert)

    def _aside(self, write, *values) -> None:
        if self.problem is not None:
            return
        try:
            if not self.opened:
                self._open()
                self.opened = True
            write(*values)
        except Exception as error:  # every tracker has errors of its own
            self.problem = f"{type(error).__name__}: {error}"
            print(f"whyloss: {type(self).__name__} writes no more, the watching goes on: {self.problem}", file=sys.stderr)

    def _open(self) -> None:
        pass


class TensorBoardWriter(Writer):
    """target: a SummaryWriter, or the folder for one. Alerts are a text."""

    package, extra = "torch.utils.tensorboard", "tensorboard"

    def __init__(self, target, **options):
        super().__init__(**options)
        self.target = target if hasattr(target, "add_scalar") else self.module.SummaryWriter(str(target))

    def _write(self, step, values) -> None:
        for name, value in values.items():
            self.target.add_scalar(name, value, step)

    def _alert(self, alert) -> None:
        self.target.add_text(f"{self.prefix}alerts", f"**{alert.kind}** ({alert.subject}): {alert.message}", alert.step)
        self.target.flush()


class WandbWriter(Writer):
    """run: as wandb.init() gave it; None: the one that is active at the first number.

    W&B counts the calls of `log` as steps. So as not to move the user's own, numbers go into the row that the user's next `log`
    ends, with whyloss/step as their axis: of several samples between two such calls the last stays. rows=True writes a row for
    each sample, for runs that log nothing else or whose logs bring an axis of their own.
    """

    package = extra = "wandb"

    def __init__(self, run=None, *, rows: bool = False, **options):
        super().__init__(**options)
        self.run, self.rows = run, rows

    def _open(self) -> None:
        self.run = self.run or self.module.run
        if self.run is None:
            raise RuntimeError("no run is active: call wandb.init() before the training")
        self.run.define_metric(f"{self.prefix}step", hidden=True)
        self.run.define_metric(f"{self.prefix}*", step_metric=f"{self.prefix}step")

    def _write(self, step, values) -> None:
        self.run.log({**values, f"{self.prefix}step": step}, commit=self.rows)

    def _alert(self, alert) -> None:
        self.run.alert(title=f"whyloss: {alert.kind}", text=f"step {alert.step}, {alert.subject}: {alert.message}", level="WARN")


class MLflowWriter(Writer):
    """run_id: of the run to write to; None: the one that is active at the first number. Alerts are tags of the run."""

    package, extra = "mlflow", "mlflow"
    MOST = 1000  # numbers that MLflow takes at once

    def __init__(self, run_id: str | None = None, **options):
        super().__init__(**options)
        self.run_id = run_id

    def _open(self) -> None:
        if self.run_id is None:
            active = self.module.active_run()
            if active is None:
                raise RuntimeError("no run is active: call mlflow.start_run() before the training, or give run_id")
            self.run_id = active.info.run_id
        self.client = self.module.MlflowClient()
        self.metric = importlib.import_module("mlflow.entities").Metric

    def _write(self, step, values) -> None:
        now = int(time.time() * 1000)
        rows = [self.metric(_allowed(name), value, now, step) for name, value in values.items()]
        for first in range(0, len(rows), self.MOST):
            self.client.log_batch(self.run_id, metrics=rows[first:first + self.MOST])

    def _alert(self, alert) -> None:
        self.client.set_tag(self.run_id, _allowed(f"whyloss.{alert.kind}.{alert.subject}")[:250], f"step {alert.step}: {alert.message}"[:5000])


def _allowed(name: str) -> str:
    """MLflow knows letters, digits and a few signs, and takes names for paths."""
    return re.sub(r"[^\w\-. /]", "_", name).replace("..", "_.")


class TrackioWriter(Writer):
    """run: as trackio.init() gave it; None: the one that is active at the first number."""

    package = extra = "trackio"

    def __init__(self, run=None, **options):
        super().__init__(**options)
        self.run = run

    def _open(self) -> None:
        self.run = self.run or importlib.import_module("trackio.context_vars").current_run.get()
        if self.run is None:
            raise RuntimeError("no run is active: call trackio.init() before the training")

    def _write(self, step, values) -> None:
        self.run.log(values, step=step)

    def _alert(self, alert) -> None:
        self.run.alert(title=f"whyloss: {alert.kind}", text=f"{alert.subject}: {alert.message}", level=self.module.AlertLevel.WARN, step=alert.step)
