"""Which column is what, in logs of many frameworks."""

import numpy as np
import pytest

from tests.diagnosis.reading.logs import column, falling, log, named
from whyloss.diagnosis.reading.roles import ADVERSARIES, REINFORCEMENT, TABLE, roles
from whyloss.errors import UnknownName


def test_keras():
    found = roles(named("loss", "accuracy", "val_loss", "val_accuracy", "lr"))

    assert (found.train, found.validation, found.accuracies) == ("loss", ("val_loss",), ("accuracy", "val_accuracy"))
    assert found.learning_rates == ("lr",)


def test_lightning_steps_are_read_until_there_are_enough_epochs():
    steps = column("train_loss_step", falling(200))

    assert roles(log(steps, column("train_loss_epoch", falling(8)))).train == "train_loss_step"
    assert roles(log(steps, column("train_loss_epoch", falling(30)))).train == "train_loss_epoch"


def test_hugging_face_s_summary_of_one_value_is_not_the_training_loss():
    found = roles(log(column("loss", falling(50)), column("train_loss", [0.4]), column("eval_loss", falling(10)), column("train_runtime", [12.0])))

    assert (found.train, found.validation) == ("loss", ("eval_loss",))


def test_several_evaluation_sets_each_pair_with_the_training_loss():
    found = roles(named("loss", "eval_squad_loss", "eval_news_loss", "eval_squad_f1"))

    assert found.pairs == (("loss", "eval_squad_loss"), ("loss", "eval_news_loss"))


def test_terms_without_a_total_are_added_and_pair_by_topic():
    found = roles(named("train/box_loss", "train/cls_loss", "metrics/mAP50(B)", "val/box_loss", "val/cls_loss", "lr/pg0"))

    assert (found.train, found.validation) == ("train/box_loss + train/cls_loss", ("val/box_loss + val/cls_loss",))
    assert ("train/cls_loss", "val/cls_loss") in found.pairs
    assert np.allclose(found.made[found.train].values, [a + b for a, b in zip(np.linspace(2, 1, 30), np.linspace(2, 1, 30) + 0.01)])


@pytest.mark.parametrize("total, how", [("sum", "sum"), ("mean", "mean"), ("weighted", "weighted sum"), ("none", "")])
def test_the_numbers_say_how_terms_make_the_total(total, how):
    rng = np.random.default_rng(0)
    a, b = rng.uniform(1, 2, 50), rng.uniform(0, 1, 50)
    whole = {"sum": a + b, "mean": (a + b) / 2, "weighted": a + 0.1 * b, "none": rng.uniform(1, 2, 50)}[total]
    found = roles(log(column("loss", whole), column("recon_loss", a), column("commit_loss", b)))

    assert (found.train, found.combined) == ("loss", how)


def test_a_column_that_equals_the_sum_of_the_others_is_the_total_whatever_its_name():
    a, b = falling(60, seed=1), falling(60, seed=2)
    found = roles(log(column("loss_a", a), column("loss_b", b), column("loss_full_objective", a + b)))

    assert (found.train, found.combined) == ("loss_full_objective", "sum")


def test_a_variational_autoencoder_s_divergence_is_no_validation_loss():
    a, b = falling(60, seed=1), falling(60, seed=2)
    found = roles(log(column("loss", a + b), column("recon_loss", a), column("kl_loss", b), column("val_loss", a + b)))

    assert (found.train, found.validation, found.context, found.combined) == ("loss", ("val_loss",), "", "sum")
    assert "kl_loss" in found.no_losses


@pytest.mark.parametrize("names", [
    ("rollout/ep_rew_mean", "train/value_loss", "train/policy_gradient_loss", "train/loss", "train/approx_kl"),
    ("rollout/return", "train/loss_critic", "train/loss_actor"), ("loss", "reward", "kl"),
    ("losses/value_loss", "losses/policy_loss", "charts/SPS"),
    ("episode", "score", "epsilon", "loss"),
])  # fmt: skip
def test_reinforcement_learning_has_no_validation_loss(names):
    found = roles(named(*names))

    assert (found.context, found.validation) == (REINFORCEMENT, ())


def test_preference_rewards_beside_a_loss_are_no_reinforcement_learning():
    assert roles(named("loss", "rewards/chosen", "rewards/rejected", "rewards/margins", "eval_loss")).context == ""


@pytest.mark.parametrize("names", [("loss_D", "loss_G"), ("errD", "errG", "errD_real"), ("d_loss", "g_loss"), ("disc_loss", "generator_loss")])
def test_two_networks_in_a_game_are_adversaries(names):
    assert roles(named(*names)).context == ADVERSARIES


def test_a_generator_beside_a_discriminator_is_a_game_and_alone_it_is_not():
    assert roles(named("Gen Loss", "Disc Loss")).context == ADVERSARIES
    assert roles(named("gen_loss", "val_gen_loss")).context == ""


def test_a_single_letter_alone_is_no_game():
    found = roles(named("loss_g", "loss_a"))

    assert (found.context, found.no_losses) == ("", {})


def test_rows_that_are_runs_are_a_table():
    run = log(column("Run Number", np.repeat(np.arange(20), 4), unit="row"), column("Loss", falling(80), unit="row"))

    assert roles(run).context == TABLE


def test_mean_squared_error_is_the_loss_only_where_no_column_is_called_loss():
    assert roles(named("mse", "val_mse")).validation == ("val_mse",)
    assert roles(named("loss", "mse", "val_loss", "val_mse")).validation == ("val_loss",)


def test_the_only_curve_is_read_as_a_loss_and_said_so():
    found = roles(named("Value"))

    assert found.train == "Value"
    assert "--loss" in found.notes[0]


def test_names_that_are_given_decide():
    found = roles(named("loss", "aux_loss", "holdout"), loss="Aux Loss", val="holdout")

    assert (found.train, found.validation) == ("aux_loss", ("holdout",))


def test_an_unknown_name_lists_the_nearest():
    with pytest.raises(UnknownName, match="train_loss"):
        roles(named("train_loss", "val_loss"), loss="train_los")


def test_a_run_without_columns_has_no_roles():
    assert roles(log()).train is None


def test_columns_that_only_say_which_split_they_are_of_are_losses_where_nothing_else_is():
    found = roles(log(column("train", falling(40)), column("valid", falling(40)), column("acc", 1 - falling(40) / 4)))
    assert found.train == "train" and found.validation == ("valid",) and any("read as losses" in note for note in found.notes)
    beside = roles(log(column("train", falling(40)), column("train_loss", falling(40))))
    assert beside.train == "train_loss"


def test_a_total_that_is_the_sum_of_the_other_columns_is_the_loss():
    depth, seg, normal = falling(60), falling(60, seed=1), falling(60, seed=2)
    found = roles(log(column("total", depth + seg + normal), column("depth", depth), column("seg", seg), column("normal", normal)))
    assert found.train == "total" and set(found.terms) == {"depth", "seg", "normal"}
    assert roles(log(column("total", falling(60)), column("depth", depth), column("seg", seg))).train is None


def test_what_catboost_calls_learn_is_training():
    found = roles(log(column("learn", falling(60)), column("test", falling(60))))
    assert found.train == "learn" and found.validation == ("test",)
