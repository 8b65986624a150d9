"""Printed tables of aligned columns: which line is a header, which a row, and which cell stands below which name."""

import numpy as np
import pytest

from whyloss.errors import NothingLogged
from whyloss.sources.readers import read_one, text_log
from whyloss.sources.readers.find import recognise

SPACY = """ℹ Initial learn rate: 0.001
E    #       LOSS TOK2VEC  LOSS NER  ENTS_F  SCORE
---  ------  ------------  --------  ------  ------
  0       0          0.00     40.00    0.00    0.00
  0     200        100.00   2000.00   10.00    0.10
  1     400        110.00   1000.00   20.00    0.20
✔ Saved pipeline to output directory
"""
DEEPXDE = """Compiling model...
'compile' took 0.31 s

Step      Train loss              Test loss               Test metric
0         [2.00e-01, 5.00e-02]    [3.00e-01, 5.00e-02]    [1.20e+00]
1000      [1.00e-01, 2.00e-02]    [2.00e-01, 2.00e-02]    [1.10e+00]

Best model at step 1000:
'train' took 20.5 s
"""


def read(tmp_path, text, name="train.log"):
    file = tmp_path / name
    file.write_text(text, newline="", encoding="utf-8")
    (run,) = read_one(file)
    return run


def curves(run):
    return {name: dict(zip(series.steps.tolist(), series.values.tolist())) for name, series in run.series.items()}


def test_spacy_counts_steps_and_epochs_and_its_first_loss_is_no_loss_of_a_whole_row(tmp_path):
    run = read(tmp_path, SPACY)

    assert curves(run) == {
        "LOSS TOK2VEC": {200: 100, 400: 110},
        "LOSS NER": {200: 2000, 400: 1000},
        "ENTS_F": {0: 0, 200: 10, 400: 20},
        "SCORE": {0: 0, 200: 0.1, 400: 0.2},
    }
    assert run.series["SCORE"].epochs.tolist() == [0, 0, 1] and "that of step 0 is of one batch: left out" in run.warnings[0]


def test_the_loss_of_deepxde_is_the_sum_of_its_list(tmp_path):
    found = curves(read(tmp_path, DEEPXDE))

    assert found["Train loss"] == pytest.approx({0: 0.25, 1000: 0.12}) and found["Test loss"] == pytest.approx({0: 0.35, 1000: 0.22})
    assert found["Train loss 1"] == {0: 0.2, 1000: 0.1} and found["Test loss 2"] == {0: 0.05, 1000: 0.02}
    assert found["Test metric"] == {0: 1.2, 1000: 1.1}


def test_a_list_goes_on_in_the_next_line_even_within_a_number(tmp_path):
    run = read(
        tmp_path,
        "Step      Train loss                        Test loss     Test metric\n"
        "0         [2.00e+00, 1.00e+00, 5.00e-01, 2.5\n0e-01]    [1.00e+00, \n2.00e+00]    []    \n"
        "10        [1.00e+00 1.00e+00\n 5.00e-01 5.00e-01]    [2.00e+00 2.00e+00]    []    \n",
    )

    assert curves(run)["Train loss"] == {0: 3.75, 10: 3} and curves(run)["Train loss 4"] == {0: 0.25, 10: 0.5}
    assert curves(run)["Test loss"] == {0: 3, 10: 4}


@pytest.mark.parametrize(
    "text",
    [
        "Epoch    Train loss    Val loss\n    1           0.9         0.8\n    2           0.7         0.6\n",
        "Epoch  Train loss  Val loss\n===========================\n1      0.9         0.8\n2      0.7         0.6     <- best\n",
        "epoch  Train loss  Val loss\n-----  ----------  --------\n    1         0.9       0.8\n    2         0.7       0.6\n",
        "Ep Train loss Val loss\n-- ---------- --------\n 1        0.9      0.8\n 2        0.7      0.6\n",
        "+-------+------------+----------+\n| Epoch | Train loss | Val loss |\n+-------+------------+----------+\n|   1   |    0.9     |   0.8    |\n"
        "|   2   |    0.7     |   0.6    |\n+-------+------------+----------+\n",
        "┏━━━━━━━┳━━━━━━━━━━━━┳━━━━━━━━━━┓\n┃ Epoch ┃ Train loss ┃ Val loss ┃\n┡━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━━━┩\n│ 1     │ 0.9        │ 0.8      │\n"
        "│ 2     │ 0.7        │ 0.6      │\n└───────┴────────────┴──────────┘\n",
        "| Epoch | Train loss | Val loss |\n|------:|:----------:|---------:|\n| 1 | 0.9 | 0.8 |\n| 2 | 0.7 | 0.6 |\n",
        "Epoch | Train loss | Val loss | Time\n1 | 0.9 | 0.8 | 12.5s\n2 | 0.7 | 0.6 | 1m 2s\n",
        "   epoch  Train loss  Val loss\n0      1         0.9       0.8\n1      2         0.7       0.6\n",
        "Epoch\tTrain loss\tVal loss\n1\t0.9\t0.8\n2\t0.7\t0.6\n",
        "|=====================================|\n|  Epoch  |  Time     | Train  |  Val   |\n|         |  Elapsed  | loss   |  loss  |\n"
        "|=====================================|\n|       1 |  00:00:01 |    0.9 |    0.8 |\n|       2 |  00:00:05 |    0.7 |    0.6 |\n",
        "2026-01-05 10:00:00,120 - INFO - Epoch  Train loss  Val loss\n2026-01-05 10:00:01,120 - INFO -     1         0.9       0.8\n"
        "2026-01-05 10:00:02,120 - INFO -     2         0.7       0.6\n",
        "2026-01-05 10:00:00.120 | INFO     | __main__:main:9 - Epoch  Train loss  Val loss\n"
        "2026-01-05 10:00:01.120 | INFO     | __main__:fit:12 - 1      0.9         0.8\n"
        "2026-01-05 10:00:02.120 | INFO     | __main__:fit:12 - 2      0.7         0.6\n",
        "      Epoch       Train loss         Val loss   Remaining Time \n         1           0.9000           0.8000            2.50s\n"
        "         2           0.7000           0.6000            1.20m\n",
    ],
    ids="bare solid_rule rule one_space prettytable rich Markdown bars pandas tabs MATLAB logging loguru scikit-learn".split(),
)
def test_a_table_of_each_style(tmp_path, text):
    run = read(tmp_path, text)

    assert curves(run) == {"Train loss": {1: 0.9, 2: 0.7}, "Val loss": {1: 0.8, 2: 0.6}} and run.series["Val loss"].step_unit == "epoch"


def test_a_table_of_two_columns_between_bars_is_no_box_of_names_and_values(tmp_path):
    assert curves(read(tmp_path, "| Step | Train loss |\n|---|---|\n| 10 | 0.9 |\n| 20 | 0.7 |\n")) == {"Train loss": {10: 0.9, 20: 0.7}}


def test_a_cell_is_below_its_name_where_others_are_blank(tmp_path):
    run = read(
        tmp_path,
        "    Iteration    Epoch    LearnRate    TrainingLoss    ValidationLoss\n"
        "    _________    _____    _________    ____________    ______________\n"
        "            0        0         0.01                               2.5\n"
        "           50        1         0.01             1.5                  \n"
        "          100        2         0.01             1.2               1.3\n",
    )

    assert curves(run) == {
        "LearnRate": {0: 0.01, 50: 0.01, 100: 0.01},
        "TrainingLoss": {50: 1.5, 100: 1.2},
        "ValidationLoss": {0: 2.5, 100: 1.3},
    }
    assert run.series["ValidationLoss"].epochs.tolist() == [0, 2]


@pytest.mark.parametrize("blank", ["-", "No log", "n/a", ""])
def test_a_dash_is_a_blank(tmp_path, blank):
    run = read(tmp_path, f"Step  Training Loss  Validation Loss\n 100  {blank:>13}             0.80\n 200           0.50             0.70\n")

    assert curves(run) == {"Training Loss": {200: 0.5}, "Validation Loss": {100: 0.8, 200: 0.7}}


@pytest.mark.parametrize("part", [" | ", "\t"])
def test_a_blank_at_the_end_of_a_row(tmp_path, part):
    rows = ("Step", "Train loss", "Val loss"), ("1", "0.9", ""), ("2", "0.7", "0.6"), ("3", "0.5", "")
    run = read(tmp_path, "".join(part.join(row) + "\n" for row in rows))

    assert curves(run) == {"Train loss": {1: 0.9, 2: 0.7, 3: 0.5}, "Val loss": {2: 0.6}}


def test_text_between_rows_and_a_header_printed_again(tmp_path):
    run = read(
        tmp_path,
        "Step  Train loss  Grad norm\n  10        0.90        3.0\nsaved to runs/model_10.pt after 12 seconds\n  20        0.80        2.0\n"
        "learning rate drops now\nStep  Train loss  Test loss\n  30        0.70       0.75\nconfusion:\n3    1    2\n  40        0.60       0.65\n",
    )

    assert curves(run) == {"Train loss": {10: 0.9, 20: 0.8, 30: 0.7, 40: 0.6}, "Grad norm": {10: 3, 20: 2}, "Test loss": {30: 0.75, 40: 0.65}}


def test_a_split_named_in_a_column_parts_training_from_validation(tmp_path):
    run = read(tmp_path, "Epoch  Split  Mean loss\n    1  train       0.9\n    1  val         0.8\n    2  train       0.7\n    2  val         0.6\n")

    assert curves(run) == {"train/Mean loss": {1: 0.9, 2: 0.7}, "val/Mean loss": {1: 0.8, 2: 0.6}}


@pytest.mark.parametrize(
    "text",
    [
        "we train for one step   and watch the loss   until it falls\n1    2    3\n4    5    6\n",
        "Layer (type)    Output Shape    Param #\n=======================================\ndense (Dense)   (None, 10)      7850\n",
        "             precision    recall  f1-score   support\n\n          0       0.93      0.90      0.91        10\n",
    ],
    ids=["prose", "summary of a model", "report of classes"],
)
def test_what_is_no_table_of_steps(tmp_path, text):
    with pytest.raises(NothingLogged):
        read(tmp_path, text)


def test_a_last_row_that_is_cut_off_is_left_out(tmp_path):
    for cut, name in (("  1     600        1", "a.log"), ("  1     600        120.00   900.00   30.00    0.", "b.log")):
        run = read(tmp_path, SPACY[: SPACY.index("✔")] + cut, name)

        assert max(run.series["LOSS TOK2VEC"].steps) == 400 and any("cut off" in warning for warning in run.warnings)
    assert max(read(tmp_path, DEEPXDE[: DEEPXDE.index("\n\nBest")] + "\n2000      [1.00e-01, 2.0", "c.log").series["Train loss"].steps) == 1000


def test_a_loss_that_is_not_a_number_is_kept(tmp_path):
    run = read(tmp_path, "Step  Train loss        Test loss\n0     [1.0e+00, 2.0e+00]  [1.0e+00, 1.0e+00]\n5     [nan, 2.0e+00]  [inf, 1.0e+00]\n")

    np.testing.assert_equal(curves(run)["Train loss"], {0: 3.0, 5: np.nan})
    assert curves(run)["Test loss"] == {0: 2.0, 5: np.inf}


def test_a_file_without_a_suffix_is_known_by_its_table(tmp_path):
    table = DEEPXDE[DEEPXDE.index("Step ") : DEEPXDE.index("Best")]

    assert curves(read(tmp_path, table, "pinn"))["Test metric"] == {0: 1.2, 1000: 1.1} and recognise(tmp_path / "pinn") is text_log
