"""The activation in front of the loss taken off, wherever it stands; ids told from quantities; terms of a loss."""

import torch

from whyloss.laboratory.behind import BehindActivation


def test_only_the_activation_in_front_of_the_loss_goes():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 3), torch.nn.ReLU(inplace=True))
    x, y = torch.randn(9, 4), torch.arange(9) % 3
    with BehindActivation({"relu"}):
        loss = torch.nn.functional.cross_entropy(net(x).view(-1, 3), y)
    assert torch.equal(loss, torch.nn.functional.cross_entropy(net[:3](x), y))


def test_a_difference_and_another_loss():
    torch.manual_seed(0)
    out, y = torch.randn(9, 1), torch.randn(9)
    with BehindActivation({"sigmoid"}, "difference"):
        assert torch.equal((torch.sigmoid(out).squeeze(1) - y).pow(2), (out.squeeze(1) - y).pow(2))
    t = (y > 0).float()
    with BehindActivation({"clamp"}, None, "binary_cross_entropy_with_logits"):
        loss = torch.nn.functional.binary_cross_entropy(out.squeeze(1).clamp(0, 1), t)
    assert torch.equal(loss, torch.nn.functional.binary_cross_entropy_with_logits(out.squeeze(1), t))
