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
    assert table.parameters["0.bias"]["grad"] == "none"
    row = table.parameters["0.weight"]
    assert row["grad"] == "finite"
    assert row["update_ratio"] == pytest.approx(0.1 * row["grad_norm"] / row["weight_norm"], rel=1e-3)
    assert "dead" in str(table) and "0.weight" in str(table)


def test_gradients_modes_and_the_loaders_random_state_stay_as_found():
    model = net(rate=0.2)
    nn.functional.cross_entropy(model(X[:8]), Y[:8]).backward()
    model[2].eval()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y), 32, shuffle=True,
                                         generator=torch.Generator().manual_seed(5))
    grads, modes = [p.grad.clone() for p in model.parameters()], [part.training for part in model.modules()]
    drawn = loader.generator.get_state()

    whyloss.diagnose(model, lambda out, y: nn.functional.cross_entropy(out, y) + 0 * model[0].weight.sum(), loader,
                     val=loader, steps=10, experiments=False)

    assert all(torch.equal(p.grad, grad) for p, grad in zip(model.parameters(), grads))
    assert modes == [part.training for part in model.modules()]
    assert torch.equal(drawn, loader.generator.get_state())


def test_takes_numpy_arrays_generators_and_data_sets():
    arrays = X.double().numpy(), Y.int().numpy()
    made = ((X[i:i + 32], Y[i:i + 32]) for i in range(0, 256, 32))
    for data in (arrays, made, torch.utils.data.TensorDataset(X, Y)):
        report = whyloss.diagnose(net(), nn.CrossEntropyLoss(), data, steps=12, experiments=False)
        assert next(c for c in report.curves if c.quantity == "loss").values


def test_a_loss_that_uses_the_callers_own_model_is_refused():
    model = net()
    with pytest.raises(BadInput, match="closes over"):
        whyloss.diagnose(model, lambda _model, batch: nn.functional.cross_entropy(model(batch[0]), batch[1]), (X, Y))
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize("given, told", [
    ({"loss_fn": "cross_entropy"}, "loss_fn is a str"), ({"optimizer": 3}, "optimizer is a int"),
    ({"train": X}, "train is a Tensor"), ({"train": [X]}, "is no .input, target."), ({"steps": 0}, "steps is 0"),
    ({"loss_fn": nn.CrossEntropyLoss(reduction="none")}, "one number is needed"),
    ({"train": (X[:, :5], Y)}, "on the first batch, .64, 5. float32"), ({"optimizer": lambda p: None}, "an Optimizer is needed")])
def test_a_wrong_input_is_told_with_what_would_do(given, told):
    call = {"model": net(), "loss_fn": nn.CrossEntropyLoss(), "train": (X, Y), **given}
    with pytest.raises(BadInput, match=told):
        whyloss.diagnose(**call)


def test_lbfgs_is_trained_and_a_frozen_model_refused():
    report = whyloss.diagnose(net(), nn.CrossEntropyLoss(), (X, Y), optimizer=lambda p: torch.optim.LBFGS(p, lr=0.5),
                              batch_size=256, steps=10, experiments=False)
    assert report.verdict != "fault"
    with pytest.raises(BadInput, match="no parameter of model wants a gradient"):
        whyloss.diagnose(net().requires_grad_(False), nn.CrossEntropyLoss(), (X, Y))


def test_the_start_tells_scale_from_labels_and_names_the_factor_of_a_sum():
    trained = net()
    optimizer = torch.optim.Adam(trained.parameters(), lr=0.01)
    for _ in range(150):
        optimizer.zero_grad()
        nn.functional.cross_entropy(trained(X), Y).backward()
        optimizer.step()
    trained.eval()

    assert whyloss.check_start(trained, X, Y).verdict == "knows the labels"
    assert whyloss.check_start(trained, X, (Y + 1) % 3).verdict == "labels or wiring wrong"
    assert whyloss.check_start(nn.Sequential(net(), nn.Softmax(1)), X, Y).verdict == "outputs are probabilities"
    assert "the sum over the samples" in whyloss.check_start(net(), X, Y, nn.CrossEntropyLoss(reduction="sum")).message


def test_numbers_as_targets_are_compared_with_their_mean():
    line, y = nn.Linear(8, 1), X[:, 0] + 0.1
    assert whyloss.check_start(line, X, y)
    assert whyloss.check_start(line, X, y * 50 + 1000).verdict == "targets not normalised"
    assert whyloss.can_overfit(line, X, y, examples=5)


def test_a_sweep_over_noise_says_that_no_rate_learns():
    torch.manual_seed(2)
    sweep = whyloss.lr_sweep(nn.Linear(1, 3), (torch.zeros(256, 1), torch.randint(0, 3, (256,))))
    assert not sweep and "no learning rate" in sweep.message
