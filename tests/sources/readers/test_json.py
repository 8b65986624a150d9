"""JSON logs of any layout, and reports and ledgers of whyloss itself."""

import json

import numpy as np
import pytest

from whyloss.errors import LogUnreadable, NothingLogged
from whyloss.evidence import Evidence
from whyloss.report import Curve
from whyloss.sources.ledger import Ledger
from whyloss.sources.readers import read_one


def read(tmp_path, content, name="log.jsonl"):
    (tmp_path / name).write_text(content)
    (run,) = read_one(tmp_path / name)
    return run


def points(run, name="loss"):
    return dict(zip(run.series[name].steps.tolist(), run.series[name].values.tolist()))


def test_lines_with_nan_nested_names_and_a_torn_end(tmp_path):
    run = read(tmp_path, '{"step": 1, "loss": 0.5, "a": {"b": 1}}\n{"step": 2, "loss": NaN, "a": {"b": "Infinity"}}\nnot json\n{"step": 3, "lo')

    np.testing.assert_equal((points(run), points(run, "a/b")), ({1: 0.5, 2: np.nan}, {1: 1, 2: np.inf}))
    assert "line 4: the last line is cut off" in run.warnings[0] and "1 lines are no JSON objects (lines 3)" in run.warnings[1]


@pytest.mark.parametrize(
    "name, content, steps",
    [
        ("history.json", '{"loss": [0.5, 0.4], "val_loss": [0.6, NaN]}', [0, 1]),
        ("list.json", '[{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": 0.4}]', [1, 2]),
        ("pandas.json", '{"loss": {"0": 0.5, "1": 0.4}}', [0, 1]),
        ("epochs.json", '{"1": {"loss": 0.5}, "2": {"loss": 0.4}}', [1, 2]),
        ("deep.json", '{"params": {"lr": 0.1}, "history": {"loss": [0.5, 0.4]}}', [0, 1]),
        ("text.json", '{"epoch": ["1", "2"], "loss": ["0.5", "0.4"]}', [1, 2]),
        ("torn.json", '[{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": 0.4}, {"epo', [1, 2]),
    ],
)
def test_documents_of_each_layout(tmp_path, name, content, steps):
    assert points(read(tmp_path, content, name)) == dict(zip(steps, [0.5, 0.4]))


def test_settings_in_the_first_line_are_settings(tmp_path):
    run = read(tmp_path, '{"config": {"lr": 0.1, "model": {"depth": 2}}}\n{"step": 1, "loss": 0.5}\n')
    plain = read(tmp_path, '{"seed": 3, "env": "linux"}\n{"step": 1, "loss": 0.5}\n')

    assert (run.settings, plain.settings) == ({"lr": 0.1, "model/depth": 2}, {"seed": 3, "env": "linux"})


def test_mmdetection_counts_iterations_by_epoch_and_its_evaluations_by_their_own(tmp_path):
    train = '{{"mode": "train", "epoch": {e}, "iter": {i}, "loss": {l}}}\n'
    val = '{{"mode": "val", "epoch": {e}, "iter": 20, "bbox_mAP": 0.{e}}}\n'

    run = read(tmp_path, "".join(train.format(e=e, i=i, l=i / e) if i else val.format(e=e) for e in (1, 2, 3) for i in (50, 100, 0)))

    assert run.series["train/loss"].steps.tolist() == [50, 100, 150, 200, 250, 300] and points(run, "val/bbox_mAP") == {100: 0.1, 200: 0.2, 300: 0.3}


def test_an_evaluation_without_a_step_belongs_to_the_step_before(tmp_path):
    assert points(read(tmp_path, '{"step": 1, "loss": 1}\n{"step": 2, "loss": 2}\n{"val_loss": 3}\n{"step": 3, "loss": 1}\n'), "val_loss") == {2: 3}


@pytest.mark.parametrize(
    "name, content, error, said",
    [
        ("a.json", "", NothingLogged, "empty"),
        ("a.json", '{"a": 1', LogUnreadable, "line 1"),
        ("a.json", "[" * 100_000, LogUnreadable, "not JSON"),
        ("a.json", '{"hidden": 3, "act": "relu"}', NothingLogged, "no training log"),
        ("a.jsonl", "1\n2\n", LogUnreadable, "JSON"),
        ("trainer_state.json", '{"log_history": []}', NothingLogged, "nothing was logged"),
        ("trainer_state.json", '{\n"log_history": 3,,', LogUnreadable, "line 2"),
    ],
)
def test_what_is_no_log_is_refused(tmp_path, name, content, error, said):
    with pytest.raises(error, match=said) as raised:
        read(tmp_path, content, name)
    assert name in str(raised.value)


@pytest.mark.parametrize(
    "name, content, advice",
    [
        ("history.pkl", b"\x80\x04\x95", "a pickle runs code"),
        ("history.npy", b"\x93NUMPY\x01", "CSV with a header"),
        ("log.xlsx", b"PK\x03\x04", "save it as CSV"),
        ("logs.zip", b"PK\x03\x04", "unpack it"),
        ("model.pt", b"PK\x03\x04", "a checkpoint"),
    ],
)
def test_pickles_and_archives_are_refused_with_advice(tmp_path, name, content, advice):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(LogUnreadable, match=advice):
        read_one(tmp_path / name)


def test_whyloss_reads_its_own_ledger_and_report(tmp_path):
    evidence = Evidence()
    for step, loss in enumerate([0.5, float("nan"), 0.25]):
        evidence.add("loss", loss, step=step)
        evidence.add("grad_norm", loss, subject="layer.weight", step=step)
    ledger = Ledger(tmp_path)
    ledger.write(evidence, Evidence())
    ledger.close()
    curve = Curve("train_loss", "loss", "healthy", steps=(1, 2), values=(0.5, 0.4))
    (tmp_path / "report.json").write_text(json.dumps({"schema": 1, "verdict": "x", "curves": [curve.as_dict()]}))

    (run,), (report,) = read_one(ledger.file), read_one(tmp_path / "report.json")

    np.testing.assert_equal((points(run), points(run, "grad_norm/layer.weight")), ({0: 0.5, 1: np.nan, 2: 0.25},) * 2)
    assert points(report, "train_loss") == {1: 0.5, 2: 0.4} and (run.format, report.format) == ("whyloss ledger", "whyloss report")
