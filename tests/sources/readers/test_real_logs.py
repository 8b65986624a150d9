"""Logs that the programs themselves wrote (see fixtures/README.md), read to the exact value."""

import math
import shutil
from pathlib import Path

import numpy as np
import pytest

from whyloss.sources.readers import read_one, read_runs, recognise

LOGS = Path(__file__).parent / "fixtures"
LOSS = [1 / (1 + i / 2) for i in range(12)]
LOSS[7] = math.nan
STEPS = [10.0 * i for i in range(12)]
VALIDATION = [LOSS[i] + 0.1 for i in (0, 3, 6, 9)]


def only(path):
    (run,) = read_one(LOGS / path)
    return run


def same(series, steps, values, *, digits=None):
    np.testing.assert_array_equal(series.steps, steps)
    np.testing.assert_allclose(series.values, values, rtol=0 if digits is None else 10.0**-digits)


@pytest.mark.parametrize(
    "path, name",
    [
        ("run-gyxcj09e.wandb", "loss"),
        ("mlruns/1/first", "train/loss"),
        ("trackio.db", "loss"),
        ("tensorboardx", "train/loss"),
        ("torch_summary_writer", "train/loss"),
        ("torch_summary_writer", "new/loss"),
        ("tensorboard_tf2", "epoch_loss"),
    ],
)
def test_every_point_comes_back_with_its_step_and_nan_stays_nan(path, name):
    single = "tensorboard" in path or "summary" in path  # event files hold 32-bit numbers
    same(only(path).series[name], STEPS, np.float32(LOSS) if single else LOSS)


def test_mlflow_sqlite_gives_both_runs_with_their_settings_and_nan_is_not_the_zero_it_is_stored_as():
    first, second = read_one(LOGS / "mlflow.db")

    same(first.series["train/loss"], STEPS, LOSS)
    same(first.series["val_loss"], STEPS[::3], VALIDATION)
    assert (first.id.rpartition("#")[2], second.id.rpartition("#")[2]) == ("first", "second")
    assert (first.settings, second.settings) == ({"lr": 0.01, "optimizer": "adam"}, {"lr": 0.1, "optimizer": "adam"})
    assert first.series["val_loss"].seconds[0] == pytest.approx(1.796e9, rel=1e-3)


@pytest.mark.parametrize(
    "path, settings",
    [
        ("run-gyxcj09e.wandb", {"lr": 0.01, "model/depth": 3, "optimizer": "adam"}),
        ("trackio.db", {"lr": 0.01, "optimizer": "adam"}),
        ("mlruns/1/first", {"lr": 0.01, "optimizer": "adam"}),
        ("dvclive", {"lr": 0.01, "optimizer": "adam"}),
        ("lightning/metrics.csv", {"lr": 0.01, "hidden": 32}),
        ("tensorboardx", {"lr": 0.01, "optimizer": "adam"}),
        ("torch_summary_writer", {"lr": 0.01, "optimizer": "adam", "nesterov": 1.0}),
    ],
)
def test_settings_come_with_the_run(path, settings):
    assert {name: only(path).settings.get(name) for name in settings} == settings


def test_wandb_nested_names_are_joined_and_times_are_kept():
    run = only("run-gyxcj09e.wandb")

    same(run.series["val/loss"], STEPS[::3], VALIDATION)
    same(run.series["nested/acc"], STEPS, [i / 12 for i in range(12)])
    assert run.id.endswith("run-gyxcj09e.wandb#brave-run") and set(run.series) == {"loss", "val/loss", "nested/acc"}
    assert (np.diff(run.series["loss"].seconds) >= 0).all()


def test_dvclive_metrics_are_one_run():
    run = only("dvclive")

    same(run.series["train/loss"], range(12), LOSS)
    assert set(run.series) == {"train/loss", "acc"}


def test_lightnings_mixed_rows_are_taken_apart():
    run = only("lightning/metrics.csv")

    same(run.series["train_loss_step"], [10 * i + 9 for i in range(12)], LOSS)
    same(run.series["val_loss"], [39, 79, 119], [0.8, 1.2, 1.6])
    assert run.series["val_loss"].epochs.tolist() == [0, 1, 2]
    assert set(run.series) == {"train_loss_step", "train_loss_epoch", "val_loss", "val_acc"}


def test_keras_csv_history_and_printed_bars_tell_the_same():
    csv, history, printed = only("keras.csv"), only("keras_history.json"), only("keras_stdout.log")

    assert csv.series["loss"].values.tolist() == history.series["loss"].values.tolist()
    np.testing.assert_allclose(printed.series["val_loss"].values, csv.series["val_loss"].values, atol=5e-5)
    np.testing.assert_allclose(printed.series["loss"].values, csv.series["loss"].values, atol=5e-5)  # the last state of each bar
    assert printed.series["loss"].steps.tolist() == [1, 2, 3, 4] and csv.series["loss"].step_unit == "epoch"


def test_tqdm_bars_count_on_over_the_epochs():
    run = only("tqdm.log")

    assert run.series["val_loss"].values.tolist() == [0.5, 0.25, 0.1667]
    assert run.series["loss"].steps.max() == 30 and (np.diff(run.series["loss"].steps) >= 0).all()
    assert run.series["loss"].values[:4].tolist() == [1.0, 0.667, 0.5, 0.4] and set(run.series) == {"loss", "lr", "val_loss"}


def test_of_checkpoints_the_newest_holds_the_run():
    run = only("hf")

    same(run.series["loss"], [10, 20, 30, 40, 50, 60], [2, 1, 2 / 3, 0, 0.4, 1 / 3], digits=12)
    same(run.series["eval_loss"], [30, 60], [1.5, 1.4])
    assert math.isnan(run.series["grad_norm"].values[3])
    assert run.settings["summary/train_loss"] == 0.8 and "train_loss" not in run.series
    assert [Path(file).parent.name for file in run.files] == ["checkpoint-60"]


def test_an_older_checkpoint_stands_in_for_a_torn_one(tmp_path):
    shutil.copytree(LOGS / "hf", tmp_path / "hf")
    torn = tmp_path / "hf" / "checkpoint-60" / "trainer_state.json"
    torn.write_text(torn.read_text()[:60])

    (run,) = read_runs(tmp_path)

    assert run.series["loss"].steps.tolist() == [10, 20, 30] and "checkpoint-60" in run.warnings[0]


def test_cut_off_files_give_what_came_before_the_cut():
    events, wandb = only("cut"), only("cut/run-gyxcj09e.wandb")

    same(events.series["train/loss"], STEPS[:11], np.float32(LOSS[:11]))
    same(wandb.series["loss"], STEPS[:7], LOSS[:7])
    assert "cut off" in events.warnings[0] and "cut off" in wandb.warnings[0]


def test_a_walk_finds_each_run_once():
    runs = list(read_runs(LOGS))

    assert sorted(run.format for run in runs) == sorted(
        [
            "DVCLive",
            "Lightning metrics.csv",
            "MLflow SQLite",
            "MLflow SQLite",
            "MLflow files",
            "TensorBoard events",
            "TensorBoard events",
            "TensorBoard events",
            "TensorBoard events",
            "W&B offline run",
            "W&B offline run",
            "csv",
            "json",
            "text log",
            "text log",
            "trackio",
            "trainer_state.json",
        ]
    )
    assert all(run.series for run in runs)


@pytest.mark.parametrize(
    "path, reader",
    [
        ("tensorboardx", "tensorboard"),
        ("run-gyxcj09e.wandb", "wandb_offline"),
        ("mlflow.db", "mlflow_sqlite"),
        ("mlruns/1/first", "mlflow_files"),
        ("trackio.db", "trackio"),
        ("dvclive", "dvclive"),
        ("keras.csv", "delimited"),
        ("keras_history.json", "jsonl"),
        ("tqdm.log", "text_log"),
        ("hf", "trainer_state"),
        ("hf/checkpoint-60/trainer_state.json", "trainer_state"),
        ("README.md", None),
    ],
)
def test_formats_are_recognised(path, reader):
    found = recognise(LOGS / path)

    assert (found and found.__name__.rpartition(".")[2]) == reader
