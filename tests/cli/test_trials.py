"""`whyloss try`: what each experiment leaves for the terminal."""

import json
import math

import pytest
import torch
from torch import nn

from whyloss.cli.trials import run_trial, trial
from whyloss.laboratory.lab import open_laboratory
from whyloss.laboratory.names import EXPERIMENTS
from whyloss.render.trial import show
from whyloss.sources.probe import train_watched


@pytest.fixture(scope="module")
def laboratory():
    torch.manual_seed(0)
    x = torch.randn(192, 6)
    y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    watch = train_watched(model, nn.functional.cross_entropy, (x, y), steps=24,
                          optimizer=lambda p: torch.optim.Adam(p, lr=1e-4)).watch
    return open_laboratory(watch.program, watch.evidence, budget=120)


def drawn(result: dict) -> str:
    import io

    from rich.console import Console
    console = Console(file=io.StringIO(), width=80, force_terminal=False)
    show(result, console)
    return console.file.getvalue()


def test_the_tiny_batch_is_told_with_floor_and_best_constant(laboratory):
    result = trial(laboratory, "overfit")

    assert result["outcome"] == "memorised" and {"floor", "best constant"} <= {row["label"] for row in result["rows"]}
    assert len(result["curves"]) == 2


def test_the_range_test_gives_an_interval_on_a_log_axis(laboratory):
    result = trial(laboratory, "lr-range")

    assert result["log_x"] and "between" in result["summary"]
    assert {"lowest loss at", "a tenth of it", "steepest fall at", "valley"} <= {row["label"] for row in result["rows"]}


def test_every_decade_has_its_curve(laboratory):
    assert len(trial(laboratory, "lr-decades")["curves"]) == 5


def test_what_is_not_possible_says_why(laboratory):
    assert "no step with a non-finite value" in trial(laboratory, "first-non-finite")["summary"]
    assert "last layer" in trial(laboratory, "logits-to-loss")["summary"]


@pytest.mark.parametrize("name", ["floor", "batch-dependence", "input-dependence", "larger-batch", "without-dropout",
                                  "normalise-inputs", "train-mode", "mean-reduction", "label-permutation", "wider-model"])
def test_the_result_fits_a_terminal_of_80_columns(laboratory, name):
    text = drawn(trial(laboratory, name))

    assert f"whyloss try {name}" in text and max(map(len, text.splitlines())) <= 80


def test_an_error_of_ours_is_told(laboratory, tmp_path, monkeypatch):
    monkeypatch.setattr("whyloss.cli.trials.trial", lambda *_: 1 / 0)
    run_trial(laboratory, "floor", tmp_path)

    assert "ZeroDivisionError" in json.loads((tmp_path / "trial.json").read_text())["summary"]


def test_every_experiment_is_written_without_a_laboratory_that_works(laboratory, tmp_path, monkeypatch):
    monkeypatch.setattr(laboratory, "problem", "the model cannot be copied")
    monkeypatch.setattr(laboratory, "cache", {})
    for name in EXPERIMENTS:
        run_trial(laboratory, name, tmp_path)
        assert json.loads((tmp_path / "trial.json").read_text())["outcome"] == "not possible"


def test_a_run_that_ends_in_nan_is_not_finite_in_words(laboratory):
    from whyloss.cli.trials import describe

    outcome = {"experiment": "train-mode", "change": "x", "control": [1.0, math.inf], "changed": [1.0, 0.5]}
    assert "not finite unchanged" in describe(laboratory, "train-mode", outcome)["summary"]
