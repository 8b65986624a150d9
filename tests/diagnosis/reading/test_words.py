"""Column names of many loggers, read word by word."""

import pytest

from whyloss.diagnosis.reading.words import read_name


@pytest.mark.parametrize("name, kind, split", [
    ("train_loss_step", "loss", "train"), ("train_loss_epoch", "loss", "train"), ("val_loss", "loss", "validation"),       # Lightning
    ("loss", "loss", ""), ("eval_loss", "loss", "validation"), ("eval_squad_loss", "loss", "validation"),                   # Hugging Face
    ("eval_runtime", "time", "validation"), ("eval_samples_per_second", "time", "validation"), ("grad_norm", "gradient-norm", ""),
    ("val_accuracy", "accuracy", "validation"), ("val_mae", "loss", "validation"),                                          # Keras
    ("train/box_loss", "loss", "train"), ("val/cls_loss", "loss", "validation"), ("metrics/mAP50(B)", "accuracy", ""),      # YOLO
    ("metrics/mAP_0.5:0.95", "accuracy", ""), ("x/lr0", "learning-rate", ""), ("lr/pg2", "learning-rate", ""),
    ("rollout/ep_rew_mean", "reward", ""), ("train/value_loss", "not-a-loss", "train"), ("train/policy_gradient_loss", "not-a-loss", "train"),
    ("train/approx_kl", "not-a-loss", "train"), ("train/entropy_loss", "not-a-loss", "train"), ("train/loss", "loss", "train"),   # Stable-Baselines3
    ("losses/qf1_loss", "not-a-loss", ""), ("charts/episodic_return", "reward", ""), ("train/loss_critic", "not-a-loss", "train"),
    ("loss_D", "adversarial", ""), ("G_loss", "adversarial", ""), ("errD_real", "adversarial", ""), ("disc_loss", "adversarial", ""),
    ("eval/loss", "loss", "validation"), ("train/learning_rate", "learning-rate", "train"), ("trainer/global_step", "step", ""),   # W&B
    ("train_gnorm", "gradient-norm", "train"), ("train_loss_scale", "loss-scale", "train"), ("valid_best_loss", "other", "validation"),  # fairseq
    ("valid_ppl", "error", "validation"), ("valid_nll_loss", "loss", "validation"), ("train_wall", "time", "train"),
    ("te_loss", "loss", "validation"), ("va_acc", "accuracy", "validation"),
    ("dev_loss", "loss", "validation"), ("testLoss", "loss", "validation"), ("trainloss", "loss", "train"), ("Valid MSE", "loss", "validation"),
    ("cross_entropy", "loss", ""), ("loss_value", "loss", ""), ("rewards/margins", "other", ""), ("dice_loss", "loss", ""),
    ("val_dice", "accuracy", "validation"),
])  # fmt: skip
def test_a_name_is_read_by_its_words(name, kind, split):
    words = read_name(name)

    assert (words.kind, words.split) == (kind, split)


@pytest.mark.parametrize("name", ["value_loss", "evaluate_policy", "latest_loss", "contest_loss", "invalid_loss"])
def test_val_and_test_inside_another_word_are_no_validation(name):
    assert read_name(name).split == ""


def test_the_topic_is_what_is_left_of_a_name():
    assert read_name("train/box_loss").topic == read_name("val/box_loss").topic == ("box",)
    assert read_name("train_loss_epoch").topic == ()
    assert read_name("train_nll_loss").topic == ("nll",)


@pytest.mark.parametrize("name", ["", "   ", "///", "损失", "🙂", "a" * 10_000, "loss\n"])
def test_no_name_is_refused(name):
    assert read_name(name).kind == ("loss" if "loss" in name or name == "损失" else "other")


@pytest.mark.parametrize(
    "name, kind, split",
    [("Trainingsverlust", "loss", "train"), ("Validierungsverlust", "loss", "validation"), ("训练损失", "loss", "train"),
     ("验证损失", "loss", "validation"),
     ("Genauigkeit", "accuracy", ""), ("LossV", "not-a-loss", ""), ("LossPi", "not-a-loss", ""), ("AverageEpRet", "reward", "")],
)  # fmt: skip
def test_words_of_other_languages_and_of_actors_and_critics(name, kind, split):
    words = read_name(name)
    assert (words.kind, words.split) == (kind, split)
