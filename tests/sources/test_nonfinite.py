"""The operation behind a NaN is named also where the tape holds only its result, and where the step itself was not recorded."""

import torch

from whyloss.sources import forward
from whyloss.sources.watch import Watch


def watched(loop):
    watch = Watch().start()
    try:
        loop()
    finally:
        watch.stop()
    return watch.evidence.fact("first_non_finite")


def test_names_an_operation_on_the_targets_alone():
    def loop():
        torch.manual_seed(0)
        net, target = torch.nn.Linear(4, 3), torch.eye(3)[torch.tensor([0, 1, 2, 0])]
        q = net(torch.randn(4, 4)).log_softmax(1)
        (target * (target.log() - q)).sum().backward()

    fact = watched(loop)

    assert fact["kind"] == "log-of-zero" and fact["operation"] == "log" and "test_nonfinite.py" in fact["place"]


def test_a_step_that_was_not_recorded_is_explained_by_an_earlier_batch_and_its_weights(monkeypatch):
    monkeypatch.setattr(forward, "RECORD_SECONDS", -1.0)

    def loop():
        torch.manual_seed(0)
        net = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for step in range(70):
            p = torch.sigmoid(net(torch.randn(16, 4)))
            loss = -torch.log(1 - p).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step == 60:
                with torch.no_grad():
                    net.weight.mul_(1e4)

    fact = watched(loop)

    assert fact["kind"] == "log-of-zero" and fact["step"] == 61 and "earlier batch" in fact["reason"]
