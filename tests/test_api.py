"""The same diagnosis for a model in a notebook or a test; nothing of the caller's is changed."""

import copy

import pytest
import torch
from torch import nn

import whyloss
from whyloss.errors import BadInput

torch.manual_seed(0)
X = torch.randn(256, 8)
Y = (X[:, 0] > 0).long() + (X[:, 1] > 0).long()


def net(*, rate=0.0):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(rate), nn.Linear(32, 3))


def state(model, optimizer=None):
    return copy.deepcopy((model.state_dict(), [p.grad for p in model.parameters()], [m.training for m in model.modules()],
                          optimizer.state_dict()["state"] if optimizer else {}))


def same(a, b):
    return all(torch.equal(x, y) for x, y in zip(a[0].values(), b[0].values())) and a[1] == b[1] and a[2] == b[2] and a[3] == b[3]


def test_a_sound_training_is_healthy_and_the_model_is_left_as_found():
    model = net(rate=0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    before, random_state = state(model, optimizer), torch.get_rng_state()
    report = whyloss.diagnose(model, nn.functional.cross_entropy, (X, Y), val=(X[:64], Y[:64]), optimizer=optimizer, steps=150)
    assert report.verdict == "healthy", str(report)
    assert same(before, state(model, optimizer)) and torch.equal(random_state, torch.get_rng_state())


def test_an_optimizer_of_another_model_is_found():
    model, other = net(), net()
    report = whyloss.diagnose(model, nn.CrossEntropyLoss(), (X, Y), optimizer=torch.optim.Adam(other.parameters()), steps=60)
    assert report.cause.cause == "stale-optimizer-parameters"
    assert report.cause.trial.holds


def test_a_loss_that_takes_model_and_batch_and_a_loader_of_dicts():
    def objective(model, batch):
        return nn.functional.cross_entropy(model(batch["x"]), batch["y"])

    batches = [{"x": X[i:i + 32], "y": Y[i:i + 32]} for i in range(0, 256, 32)]
    report = whyloss.diagnose(net(), objective, batches, optimizer=lambda p: torch.optim.SGD(p, lr=0.0), steps=40)
    assert report.cause.cause == "learning-rate-zero"


def test_the_report_prints_itself():
    report = whyloss.diagnose(net(), nn.CrossEntropyLoss(), (X, Y), steps=60, experiments=False)
    assert "looked at" in str(report)


def test_what_is_no_model_is_refused_in_words():
    with pytest.raises(BadInput, match="torch.nn.Module"):
        whyloss.diagnose("model", nn.CrossEntropyLoss(), (X, Y))
    with pytest.raises(BadInput, match="differ in length"):
        whyloss.diagnose(net(), nn.CrossEntropyLoss(), (X, Y[:5]))


def test_a_sound_model_can_overfit_and_a_dead_one_cannot():
    assert whyloss.can_overfit(net(), X, Y)
    dead = net()
    with torch.no_grad():
        dead[0].bias.fill_(-50)
    result = whyloss.can_overfit(dead, X, Y)
    assert not result and result.floor < 1e-2 < result.last


def test_the_start_of_a_fresh_model_is_as_expected_and_of_a_scaled_one_is_not():
    model = net()
    before = state(model)
    assert whyloss.check_start(model, X, Y)
    with torch.no_grad():
        model[3].weight.mul_(200)
    assert whyloss.check_start(model, X, Y).verdict == "logits too large"
    assert before[1] == [p.grad for p in model.parameters()]


def test_a_model_that_gives_the_labels_away_is_noticed():
    class Oracle(nn.Module):
        def forward(self, x):
            labels = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
            return nn.functional.one_hot(labels, 3).float() * 9
    assert whyloss.check_start(Oracle(), X, Y).verdict == "knows the labels"


def test_a_sweep_suggests_a_rate_that_trains():
    sweep = whyloss.lr_sweep(net(), (X, Y))
    assert sweep and 1e-4 < sweep.suggested < 1.0 and sweep.low < sweep.high


def test_health_shows_the_true_update_and_the_state_of_grad():
    model = net()
    model[0].bias.requires_grad_(False)
    table = whyloss.health(model, nn.CrossEntropyLoss(), (X[:32], Y[:32]), torch.optim.SGD(model.parameters(), lr=0.1))
    assert table.parameters["0.bias"]["grad_state"] == "none"
    row = table.parameters["0.weight"]
    assert row["grad_state"] == "finite"
    assert row["update_ratio"] == pytest.approx(0.1 * row["grad_norm"] / row["weight_norm"], rel=1e-3)
    assert "dead share" in str(table)
