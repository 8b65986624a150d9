"""Each tracker's own library, offline: what a Monitor measured is read back from where the user would look."""

import json
import math
import sys
import time
from pathlib import Path

import pytest
import torch

from whyloss.alerts import Alert
from whyloss.integrations.writers import MLflowWriter, TensorBoardWriter, TrackioWriter, WandbWriter
from whyloss.sources.monitor import Monitor
from whyloss.sources.readers.wandb_offline import _records

STEPS = 4
ALERT = Alert("loss-spike", 3, "run", 2.0, "1.0", "the loss jumped")


def train(*writers, each_step=lambda step: None, **options):
    """-> losses"""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.1), []
    with Monitor(model, optimizer, every=1, writers=writers, **options) as monitor:
        for step in range(STEPS):
            loss = model(torch.randn(8, 4)).square().mean()
            losses.append(loss.item())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            each_step(step)
    assert monitor.problem is None
    return losses


def test_tensorboard_shows_the_numbers_and_the_alerts(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    writer = TensorBoardWriter(tmp_path)
    losses = train(writer)
    writer.alert(ALERT)
    seen = EventAccumulator(str(tmp_path)).Reload()
    shown = [(event.step, event.value) for event in seen.Scalars("whyloss/loss/run")]
    assert shown == [(step, pytest.approx(loss)) for step, loss in enumerate(losses)]
    assert "whyloss/update_ratio/0.weight" in seen.Tags()["scalars"]
    text = seen.Tensors("whyloss/alerts/text_summary")[0]
    assert text.step == 3 and b"the loss jumped" in text.tensor_proto.string_val[0]


def rows_of(run) -> list[dict]:
    """The rows of history that an offline run has put on disk, and its alerts."""
    from wandb.proto import wandb_internal_pb2
    file, until = next(Path(run.dir).parent.glob("*.wandb")), time.monotonic() + 20
    while True:
        records = [wandb_internal_pb2.Record.FromString(data) for data in _records(file, [])]
        kinds = [record.WhichOneof("record_type") for record in records]
        if "exit" in kinds or time.monotonic() > until:  # W&B's own process writes it
            break
        time.sleep(0.1)
    rows = [{item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
            for record, kind in zip(records, kinds) if kind == "history"]
    return rows + [{"alert": record.alert.text} for record, kind in zip(records, kinds) if kind == "alert"]


def test_wandb_gets_them_in_the_rows_of_the_user_whose_steps_stay_his(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    with wandb.init(project="p") as run:
        writer = WandbWriter()
        losses = train(writer, each_step=lambda step: run.log({"mine": step}, step=10 * step))
        writer.alert(ALERT)
    assert writer.problem is None
    rows = rows_of(run)
    mine = {row["mine"]: row for row in rows if "mine" in row}
    assert [mine[step]["_step"] for step in range(STEPS)] == [0, 10, 20, 30]  # none of the user's rows was moved or dropped
    seen = {row["whyloss/step"]: row["whyloss/loss/run"] for row in rows if "whyloss/step" in row}
    # the first row was still open when the second sample came
    assert seen == {step: pytest.approx(loss) for step, loss in enumerate(losses) if step}
    assert any("the loss jumped" in row.get("alert", "") for row in rows)


def test_wandb_gets_a_row_for_each_sample_where_that_was_asked_for(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    with wandb.init(project="p") as run:
        train(WandbWriter(run, rows=True, only=("loss",)))
    rows = [row for row in rows_of(run) if "whyloss/step" in row]
    assert [row["whyloss/step"] for row in rows] == list(range(STEPS)) and not any("grad_norm" in name for row in rows for name in row)


def test_mlflow_keeps_them_with_the_active_run(tmp_path):
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("sqlalchemy")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'mlflow.db'}")
    with mlflow.start_run() as run:
        writer = MLflowWriter()
        losses = train(writer)
        writer(STEPS, {"grad_norm/blocks[0]:x..y": math.nan})  # a name that MLflow would refuse
        writer.alert(ALERT)
    assert writer.problem is None
    client = mlflow.MlflowClient()
    assert [(row.step, row.value) for row in client.get_metric_history(run.info.run_id, "whyloss/loss/run")] == \
        [(step, pytest.approx(loss)) for step, loss in enumerate(losses)]
    kept = client.get_run(run.info.run_id).data
    assert math.isnan(kept.metrics["whyloss/grad_norm/blocks_0__x_.y"])
    assert kept.tags["whyloss.loss-spike.run"] == "step 3: the loss jumped"


def test_trackio_keeps_them_with_the_active_run(tmp_path, monkeypatch):
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path))
    trackio = pytest.importorskip("trackio")
    from trackio.sqlite_storage import SQLiteStorage
    monkeypatch.setattr("trackio.sqlite_storage.TRACKIO_DIR", tmp_path)
    run = trackio.init(project="whyloss-test", embed=False, auto_log_cpu=False)
    writer = TrackioWriter()
    losses = train(writer)
    writer.alert(ALERT)
    trackio.finish()
    assert writer.problem is None
    rows = SQLiteStorage.get_logs("whyloss-test", run.name)
    assert [(row["step"], row["whyloss/loss/run"]) for row in rows] == [(step, pytest.approx(loss)) for step, loss in enumerate(losses)]
    assert [(row["step"], row["title"]) for row in SQLiteStorage.get_alerts("whyloss-test")] == [(3, "whyloss: loss-spike")]
    assert list(tmp_path.glob("*.db"))


def test_a_tracker_that_fails_is_told_once_and_the_watching_goes_on(capsys):
    pytest.importorskip("tensorboard")

    class Full:
        def add_scalar(self, *values):
            raise OSError("no space left")
    writer, other = TensorBoardWriter(Full()), []
    train(writer, lambda step, values: other.append(step))
    assert other == list(range(STEPS)) and capsys.readouterr().err.count("no space left") == 1


def test_without_an_active_run_it_is_said_what_to_call(capsys):
    for writer, call in ((WandbWriter, "wandb.init"), (MLflowWriter, "mlflow.start_run"), (TrackioWriter, "trackio.init")):
        pytest.importorskip(writer.package)
        train(writer())
        assert call in capsys.readouterr().err


@pytest.mark.parametrize("writer", [WandbWriter, MLflowWriter, TrackioWriter, lambda: TensorBoardWriter("x")])
def test_a_library_that_is_missing_is_named_with_the_extra_to_install(writer, monkeypatch):
    for name in ("wandb", "mlflow", "trackio", "torch.utils.tensorboard"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r'pip install "whyloss\[(wandb|mlflow|trackio|tensorboard)\]"'):
        writer()


@pytest.mark.parametrize("module, needs", [("transformers", "transformers"), ("ignite", "ignite.engine"), ("fastai", "fastai.callback.core"),
                                           ("keras", "keras"), ("lightning", "lightning.pytorch")])
def test_a_framework_that_is_missing_is_named_with_the_extra_to_install(module, needs, monkeypatch):
    import importlib
    for name in (needs, "pytorch_lightning"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, f"whyloss.integrations.{module}", raising=False)
    with pytest.raises(ImportError, match=rf"whyloss\[{module}\]"):
        importlib.import_module(f"whyloss.integrations.{module}")
