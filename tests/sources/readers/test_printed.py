"""Printed logs: what is a counter, what a metric, and what only looks like one."""

import numpy as np
import pytest

from whyloss.errors import NothingLogged
from whyloss.sources.readers import read_one


def read(tmp_path, text):
    file = tmp_path / "train.log"
    file.write_text(text, newline="")
    (run,) = read_one(file)
    return run


def curves(run):
    return {name: dict(zip(series.steps.tolist(), series.values.tolist())) for name, series in run.series.items()}


@pytest.mark.parametrize(
    "text, expected",
    [
        ("epoch 3/10 loss: 0.123 acc=0.9 val_loss 0.5 lr 1e-3\n", {"loss": {3: 0.123}, "acc": {3: 0.9}, "val_loss": {3: 0.5}, "lr": {3: 0.001}}),
        ("step 100: train loss 3.2, val loss 3.4\n", {"train loss": {100: 3.2}, "val loss": {100: 3.4}}),
        ("iter 10: loss 3.2, time 5.12ms, mfu 3.1%\n", {"loss": {10: 3.2}, "mfu": {10: 3.1}}),
        ("{'loss': 0.69, 'learning_rate': 5e-05, 'epoch': 0.1}\n", {"loss": {0.1: 0.69}, "learning_rate": {0.1: 5e-5}}),
        ("{'loss': '0.69', 'epoch': '0.1'}\n", {"loss": {0.1: 0.69}}),
        ('2026-01-05 10:00:00 {"step": 7, "loss": 0.5}\n', {"loss": {7: 0.5}}),
        ("Epoch [2/5], Step [100/600], Loss: 2.1\n", {"Loss": {100: 2.1}}),
        ("Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.2\n", {"train/Loss": {640: 2.2}}),
        ("Epoch: [0][ 10/391]\tTime  0.1 ( 0.2)\tLoss 5.9e+00 (5.95e+00)\tAcc@1   1.00 (  1.12)\n", {"Loss": {10: 5.9}, "Acc@1": {10: 1.0}}),
        ("epoch 1\nTest set: Average loss: 0.05, Accuracy: 9825/10000 (98%)\n", {"test/Average loss": {1: 0.05}, "test/Accuracy": {1: 0.9825}}),
        (
            "[2024-01-01 10:00:00,000] [INFO] [logging.py:96:log_dist] [Rank 0] step=30, lr=[0.001, 0.001], mom=[[0.9, 0.95]]\n",
            {"lr": {30: 0.001}, "mom": {30: 0.9}},
        ),
        (
            " iteration       10/  500000 | elapsed time per iteration (ms): 5000.0 | lm loss: 1.08E+01 | number of nan iterations:   0 |\n",
            {"lm loss": {10: 10.8}},
        ),
        (
            "2020-01-01 00:00:10 | INFO | train_inner | epoch 001:    100 / 3937 loss=12.5, ppl=4096, wps=123.6, num_updates=100, gnorm=3.5\n",
            {"loss": {100: 12.5}, "ppl": {100: 4096}, "gnorm": {100: 3.5}},
        ),
        (
            "2024-01-01 12:00:01,123 - mmdet - INFO - Epoch [1][50/7330]\tlr: 1.9e-03, eta: 1 day, 2:03:04, time: 0.6, memory: 3000, loss: 3.1\n",
            {"lr": {50: 0.0019}, "loss": {50: 3.1}},
        ),
        (
            "| epoch   1 |   200/ 2983 batches | lr 20.00 | ms/batch 23.45 | loss  7.63 | ppl  2055.1\n",
            {"lr": {200: 20}, "loss": {200: 7.63}, "ppl": {200: 2055.1}},
        ),
        ("[1,  2000] loss: 2.2\n", {"loss": {2000: 2.2}}),
        (
            "\x1b[32m12:00:00\x1b[0m | \x1b[1mEpoch 3\x1b[0m\nTraining loss: 0.5 | Validation loss: nan, accuracy: 0.8\n",
            {"Training loss": {3: 0.5}, "Validation loss": {3: float("nan")}, "val/accuracy": {3: 0.8}},
        ),
        ("epoch 1, loss: tensor(0.5, device='cuda:0', grad_fn=<NllLossBackward0>)\n", {"loss": {1: 0.5}}),
    ],
)
def test_a_line_of_each_style(tmp_path, text, expected):
    np.testing.assert_equal(curves(read(tmp_path, text)), expected)


BOX = """-------------------------------
| rollout/        |          |
|    ep_rew_mean  | {r}      |
| time/           |          |
|    total_timesteps | {t}   |
-------------------------------
"""


@pytest.mark.parametrize(
    "text, expected",
    [
        (
            "[0]\ttrain-logloss:0.55\tvalid-logloss:0.57\n[5]\ttrain-logloss:0.45\tvalid-logloss:0.47\n",
            {"train-logloss": {0: 0.55, 5: 0.45}, "valid-logloss": {0: 0.57, 5: 0.47}},
        ),
        ("[100]\tvalid_0's l2: 0.24\n[200]\tvalid_0's l2: 0.23\n", {"valid_0's l2": {100: 0.24, 200: 0.23}}),
        (
            "0:\tlearn: 0.687\ttest: 0.688\ttotal: 50ms\tremaining: 5s\n1:\tlearn: 0.677\ttest: 0.678\ttotal: 90ms\tremaining: 5s\n",
            {"learn": {0: 0.687, 1: 0.677}, "test": {0: 0.688, 1: 0.678}},
        ),
        (BOX.format(r=22.1, t=2048) + BOX.format(r=32.1, t=4096), {"rollout/ep_rew_mean": {2048: 22.1, 4096: 32.1}}),
        ("Loss at epoch 5: 0.33\nLoss at epoch 6: 0.31\n", {"Loss": {5: 0.33, 6: 0.31}}),
        (
            "step:0/5100 val_loss:10.8 train_time:0ms step_avg:nanms\nstep:125/5100 val_loss:5.1 train_time:10ms step_avg:80.1ms\n",
            {"val_loss": {0: 10.8, 125: 5.1}},
        ),
    ],
    ids=["XGBoost", "LightGBM", "CatBoost", "stable-baselines", "sentence", "speedrun"],
)
def test_lines_of_other_libraries(tmp_path, text, expected):
    assert curves(read(tmp_path, text)) == expected


def test_times_progress_and_addresses_are_no_metrics(tmp_path):
    run = read(
        tmp_path,
        "10:00:01 epoch 1 [ 45%] loss: 0.5 eta: 0:12:33 elapsed 12s 3.2it/s saved to runs/exp3/model_7.pt took 5 minutes\n"
        "Downloading: 100%\nlistening on port 8080\n10:00:02 epoch 2 [ 90%] loss: 0.4 ETA 00:01 speed: 30.1 img/s at 0x7f12\n",
    )

    assert curves(run) == {"loss": {1: 0.5, 2: 0.4}}


def test_a_heading_holds_for_the_lines_below_it(tmp_path):
    run = read(tmp_path, "batch size: 32\nEpoch 1\n-----\nloss: 0.5\nval_loss: 0.6\nEpoch 2\nloss: 0.4\nval_loss: 0.5\n")

    assert curves(run) == {"loss": {1: 0.5, 2: 0.4}, "val_loss": {1: 0.6, 2: 0.5}} and run.settings == {"batch size": 32}


def test_of_a_keras_bar_the_last_state_counts(tmp_path):
    bar = (
        "Epoch {e}/2\n\r  1/391 [......] - ETA: 5:12 - loss: 9.0\b\b\b\b\r200/391 [===>..] - ETA: 3s - loss: 5.0"
        "\r391/391 [======] - 5s 12ms/step - loss: {l} - val_loss: {v}\n"
    )

    assert curves(read(tmp_path, bar.format(e=1, l=1.9, v=1.8) + bar.format(e=2, l=1.5, v=1.6))) == {
        "loss": {1: 1.9, 2: 1.5},
        "val_loss": {1: 1.8, 2: 1.6},
    }


def test_ultralytics_tables_are_rows_of_epochs(tmp_path):
    head = "      Epoch    GPU_mem   box_loss   cls_loss  Instances       Size\n"
    line = "        {e}/3      2.5G      {b}      2.3         20        640: {p}%|██  | 1/10 [00:00<00:03,  3.2it/s]"
    val = (
        "                 Class     Images  Instances      Box(P          R      mAP50): 100%|███| 2/2 [00:00<00:00,  2.3it/s]\n"
        "                   all        128        929      0.64      0.53      {m}\n"
    )

    run = read(
        tmp_path,
        "".join(head + line.format(e=e, b=9.5, p=10) + "\r" + line.format(e=e, b=1.5 - e / 10, p=100) + "\n" + val.format(m=e / 10) for e in (1, 2)),
    )

    assert curves(run)["box_loss"] == {1: 1.4, 2: 1.3} and curves(run)["mAP50"] == {1: 0.1, 2: 0.2} and run.series["box_loss"].step_unit == "epoch"


def test_fastai_tables_are_rows_of_epochs(tmp_path):
    run = read(
        tmp_path,
        "epoch     train_loss  valid_loss  accuracy  time    \n0         0.9         0.8         0.5       00:12     \n"
        "1         0.7         0.6         0.7       00:12     \n",
    )

    assert curves(run) == {"train_loss": {0: 0.9, 1: 0.7}, "valid_loss": {0: 0.8, 1: 0.6}, "accuracy": {0: 0.5, 1: 0.7}}


def test_batches_count_on_over_the_epochs_and_time_stamps_are_seconds(tmp_path):
    run = read(
        tmp_path,
        "".join(f"2026-01-05 10:0{e}:{b // 10:02} Epoch [{e}/3], Step [{b}/300], Loss: {1 / e}\n" for e in (1, 2, 3) for b in (100, 200, 300)),
    )

    assert run.series["Loss"].steps.tolist() == [100, 200, 300, 400, 500, 600, 700, 800, 900]
    assert run.series["Loss"].epochs.tolist() == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert np.diff(run.series["Loss"].seconds)[:3].tolist() == [10, 10, 40]


def test_text_without_metrics_is_no_log(tmp_path):
    with pytest.raises(NothingLogged, match="train.log: no metrics in 2 lines"):
        read(tmp_path, "hello\nthere were 3 of them\n")
