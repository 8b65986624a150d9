"""Hand-written derivatives."""

import torch

from whyloss.checks.wiring.custom_backward_wrong import CustomBackwardWrong
from whyloss.laboratory.experiments.functions import examine
from whyloss.testing import check_contract, evidence_from, findings


def function(forward, backward):
    """A torch.autograd.Function of one tensor. backward takes (x, y, g)."""
    def ahead(ctx, x):
        y = forward(x)
        ctx.save_for_backward(x, y)
        return y

    return type("Own", (torch.autograd.Function,), {"forward": staticmethod(ahead),
                                                    "backward": staticmethod(lambda ctx, g: backward(*ctx.saved_tensors, g))})


def tried(forward, backward):
    torch.manual_seed(0)
    return examine(function(forward, backward), (torch.randn(20, 6, requires_grad=True),), torch.randn(20, 6))


def test_keeps_the_contract():
    check_contract(CustomBackwardWrong)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in CustomBackwardWrong.needs)


def test_suspects_each_hand_written_function_and_leaves_it_to_the_experiment():
    found, = findings(CustomBackwardWrong(), evidence_from(custom_function={"Unit": [{"called": "net.py:30", "line": "net.py:22"}] * 9}))

    assert found.cause == "custom-backward-wrong" and found.status == "suspected" and found.subject == "Unit" and found.step == 0
    assert str(found.location) == "net.py:22" and found.asks["function"] == "Unit" and found.asks["unseen"]


def test_sees_that_the_incoming_gradient_is_ignored():
    found = tried(torch.tanh, lambda x, y, g: 1 - y * y)
    assert found["certain"] and "not multiplied in" in found["what"]


def test_sees_a_wrong_sign_and_a_wrong_argument():
    assert tried(torch.tanh, lambda x, y, g: g * (y * y - 1))["certain"]
    assert tried(torch.tanh, lambda x, y, g: g * (1 - x * x))["certain"]


def test_is_not_certain_where_the_forward_is_straight():
    assert not tried(torch.relu, lambda x, y, g: g * torch.sigmoid(x))["certain"]


def test_spares_right_derivatives():
    assert tried(torch.tanh, lambda x, y, g: g * (1 - y * y)) is None
    assert tried(torch.relu, lambda x, y, g: g * (x > 0)) is None


def test_spares_straight_through_and_surrogate_gradients():
    assert tried(torch.round, lambda x, y, g: g) is None
    assert tried(lambda x: (x > 0).to(x.dtype), lambda x, y, g: g / (1 + x.abs()) ** 2) is None


def test_spares_reversal_and_clipping_of_the_gradient():
    assert tried(lambda x: x.view_as(x), lambda x, y, g: -0.1 * g) is None
    assert tried(lambda x: x.clone(), lambda x, y, g: g.clamp(-0.01, 0.01)) is None
