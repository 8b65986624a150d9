"""Which files are logs: folders, patterns, links, addresses, what cannot be read."""

import os
import pickle
import sys
import tracemalloc
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from whyloss.errors import LogUnreadable
from whyloss.sources.readers import find_logs, read_found, read_one, read_runs

LOGS = Path(__file__).parent / "fixtures"
CSV = "step,loss\n1,0.5\n2,0.4\n"


def tree(folder, files):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


def ids(folder, paths):
    return [os.path.relpath(run.id, folder) for run in read_runs(paths)]


def test_a_walk_takes_logs_in_natural_order_and_passes_over_what_is_none(tmp_path):
    tree(
        tmp_path,
        {
            "version_10/metrics.csv": CSV,
            "version_9/metrics.csv": CSV,
            "version_9/hparams.yaml": "lr: 0.1\nmodel:\n  depth: 3\n",
            "config.json": '{"a": 1}',
            "notes.txt": "hello\n",
            "list.json": '[{"id": 1}, {"id": 2}]',
            ".git/x.csv": CSV,
            "requirements.txt": "numpy==2.0\n",
            "train.py": "x = 1\n",
        },
    )

    runs = list(read_runs(tmp_path))

    assert [Path(run.id).parent.name for run in runs] == ["version_9", "version_10"]
    assert [run.settings for run in runs] == [{"lr": 0.1, "model/depth": 3.0}, {}]


def test_patterns_and_names_given_twice(tmp_path):
    tree(tmp_path, {"a/x.csv": CSV, "b/x.csv": CSV, "b/y.jsonl": '{"step": 1, "loss": 1}\n'})

    assert ids(tmp_path, [f"{tmp_path}/*/x.csv", tmp_path / "a" / "x.csv", tmp_path]) == ["a/x.csv", "b/x.csv", "b/y.jsonl"]
    assert ids(tmp_path, [f"{tmp_path}/**/*.csv"]) == ["a/x.csv", "b/x.csv"]


def test_links_in_a_circle_end(tmp_path):
    tree(tmp_path, {"a/x.csv": CSV})
    (tmp_path / "a" / "again").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "a" / "gone.csv").symlink_to(tmp_path / "nowhere.csv")

    runs = list(read_runs(tmp_path))

    assert [run.format for run in runs] == ["csv", "unreadable"] and "gone.csv: no such file" in runs[1].warnings[0]


def test_what_cannot_be_read_does_not_stop_the_others(tmp_path):
    tree(tmp_path, {"1.csv": "", "2.csv": CSV, "3/trainer_state.json": '{"log_history": [', "4.csv": "a note, only\n"})
    os.mkfifo(tmp_path / "5.csv")

    runs = {Path(run.id).name: run for run in read_runs(tmp_path)}

    assert list(runs["2.csv"].series) == ["loss"]
    assert {name: run.format for name, run in runs.items() if name != "2.csv"} == dict.fromkeys(
        ("1.csv", "trainer_state.json", "4.csv", "5.csv"), "unreadable"
    )
    assert all(name in run.warnings[0] for name, run in runs.items() if run.format == "unreadable")


def test_a_path_where_nothing_is_and_a_folder_without_logs_are_errors(tmp_path):
    with pytest.raises(LogUnreadable, match="no such file"):
        list(read_runs([tmp_path / "x.csv"]))
    with pytest.raises(LogUnreadable, match="no training log found"):
        list(read_runs(tmp_path))


def test_several_event_files_of_one_folder_are_one_run_and_phases_below_belong_to_it(tmp_path):
    events = next((LOGS / "tensorboardx").glob("events*")).read_bytes()
    for name in (
        "run/events.out.tfevents.1.a",
        "run/events.out.tfevents.2.a",
        "keras/train/events.out.tfevents.1.a",
        "keras/validation/events.out.tfevents.1.a",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(events)

    keras, run = read_runs(tmp_path)

    assert len(run.series["train/loss"]) == 24 and len(run.files) == 2
    assert Path(keras.id).name == "keras" and len(keras.files) == 2


def test_aim_is_refused_with_what_to_export(tmp_path):
    tree(tmp_path, {".aim/meta/x": "", "run.csv": CSV})

    refused, *_ = read_runs(tmp_path)

    assert "Aim's store is read by Aim only" in refused.warnings[0]


def test_runs_are_read_one_at_a_time(tmp_path):
    tree(tmp_path, {f"{i}.csv": "step,loss\n" + "".join(f"{s},0.5\n" for s in range(5000)) for i in range(40)})
    tracemalloc.start()
    points = sum(len(run.series["loss"]) for run in read_runs(tmp_path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert points == 200_000 and peak < 1.6e6  # of 3.2e6 bytes of points


def test_logs_are_spread_over_processes():
    with ProcessPoolExecutor(1) as pool:
        runs = [run for found in pool.map(read_found, find_logs(LOGS)) for run in found]

    assert len(runs) == 17 and all(run.series for run in runs)


def test_the_error_survives_a_process_border():
    error = pickle.loads(pickle.dumps(LogUnreadable("x.csv: line 3: cut")))

    assert str(error) == "x.csv: line 3: cut"


@pytest.mark.parametrize("scheme", ["memory", "file"])
def test_addresses_are_read(tmp_path, scheme):
    fsspec = pytest.importorskip("fsspec")
    root = "memory://logs" if scheme == "memory" else f"file://{tmp_path}"
    with fsspec.open(f"{root}/a/metrics.csv", "w", auto_mkdir=True) as stream:
        stream.write(CSV)
    for file in LOGS.joinpath("tensorboardx").glob("events*"):
        with fsspec.open(f"{root}/b/{file.name}", "wb", auto_mkdir=True) as stream:
            stream.write(file.read_bytes())

    runs = list(read_runs(root))
    (one,) = read_one(f"{root}/a/metrics.csv")

    assert [run.format for run in runs] == (["TensorBoard events", "csv"] if scheme == "memory" else ["csv", "TensorBoard events"])
    assert one.series["loss"].values.tolist() == [0.5, 0.4] and one.id.endswith("a/metrics.csv") and "tmp" not in one.id.replace(str(tmp_path), "")


def test_an_address_without_the_library_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(LogUnreadable, match=r"whyloss\[remote\]"):
        read_one("s3://bucket/metrics.csv")
    with pytest.raises(LogUnreadable, match=r"whyloss\[remote\]"):
        list(read_runs("gs://bucket/runs"))


def test_only_the_columns_asked_for_are_kept():
    for path in ("lightning/metrics.csv", "trackio.db", "mlflow.db", "tensorboardx", "run-gyxcj09e.wandb", "mlruns/1/first", "tqdm.log", "hf"):
        whole = read_one(LOGS / path)[0]
        name = max(whole.series, key=lambda each: "loss" in each)
        (few, *_) = read_one(LOGS / path, columns=[name])
        assert list(few.series) == [name] and few.series[name].values.tobytes() == whole.series[name].values.tobytes()
        assert few.series[name].steps.tolist() == whole.series[name].steps.tolist()
