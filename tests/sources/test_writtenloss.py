"""Losses written by hand, terms of a loss and embeddings, as a watch sees them."""

import pytest

torch = pytest.importorskip("torch")

from whyloss.sources.watch import Watch  # noqa: E402


def watched(loss_of, *, width=3, steps=6):
    """Evidence of a short training of one linear layer. loss_of(output, x, labels) -> loss"""
    torch.manual_seed(0)
    x, labels = torch.randn(20, 5), torch.arange(20) % 3
    watch = Watch().start()
    try:
        net = torch.nn.Linear(5, width)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(steps):
            loss = loss_of(net(x), x, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    finally:
        watch.stop()
    assert watch.errors == []
    return watch.evidence


def written(evidence):
    return [column.values[0] for column in evidence.by_subject("loss_written").values()]


def test_a_squared_difference():
    row, = written(watched(lambda out, x, _: ((torch.sigmoid(out) - x[:, :3]) ** 2).mean()))
    assert row["function"] == "mse_loss" and row["producer"] == "sigmoid" and row["target_min"] < 0 and row["reach_floor"] > 0


def test_a_difference_that_is_not_a_loss():
    assert written(watched(lambda out, x, _: (out - out.mean(0)).pow(2).mean())) == []


def test_picked_scores():
    row, = written(watched(lambda out, _, labels: -out[torch.arange(20), labels].mean()))
    assert row["function"] == "nll_loss" and row["exp_row_sum_error"] > 0.1 and not row["diagonal"]


def test_cross_entropy_by_hand():
    row, = written(watched(lambda out, _, labels: -(torch.log_softmax(torch.relu(out), 1) * torch.eye(3)[labels]).sum(1).mean()))
    assert row["function"] == "log_softmax" and row["producer"] == "relu"


def test_binary_cross_entropy_by_hand():
    def loss(out, _, labels):
        p, t = torch.sigmoid(out[:, 0]), (labels > 0).float()
        return -(t * torch.log(p + 1e-7) + (1 - t) * torch.log(1 - p + 1e-7)).mean()

    row, = written(watched(loss))
    assert row["function"] == "binary_cross_entropy" and 0 < row["min"] < row["max"] < 1


def test_terms_of_a_loss():
    evidence = watched(lambda out, x, _: (out - x[:, :3]).pow(2).mean() + 0.01 * out.abs().mean())
    rows = [column.values[0] for column in evidence.by_subject("loss_term").values()]
    assert [row["target"] for row in rows] == [True, False]


def test_embeddings_that_are_compared():
    evidence = watched(lambda out, x, _: torch.cdist(out, out).mean())
    rows = [column.values for column in evidence.by_subject("embedding").values()][0]
    assert rows[-1]["spread"] < rows[0]["spread"]


def test_a_checkpoint_whose_keys_have_a_prefix():
    def loss(out, x, _):
        return (out - x[:, :3]).pow(2).mean()

    watch = Watch().start()
    try:
        net = torch.nn.Sequential(torch.nn.Linear(5, 3))
        net.load_state_dict({f"module.{k}": v for k, v in net.state_dict().items()}, strict=False)
        loss(net(torch.randn(8, 5)), torch.randn(8, 5), None).backward()
    finally:
        watch.stop()
    row = next(iter(watch.evidence.by_subject("state_loaded").values())).values[0]
    assert watch.errors == [] and row["renamed"] == 2 and row["pair"][0].startswith("module.")


def test_weights_that_are_initialised_again_after_loading():
    watch = Watch().start()
    try:
        net = torch.nn.Sequential(torch.nn.Linear(40, 30), torch.nn.Linear(30, 3))
        net.load_state_dict({k: torch.randn_like(v) for k, v in net.state_dict().items()})
        net[0].reset_parameters()
        net[1].reset_parameters()
        net(torch.randn(8, 40)).pow(2).mean().backward()
    finally:
        watch.stop()
    assert watch.errors == [] and watch.evidence.has("state_overwritten")
