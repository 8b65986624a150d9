"""Closures: which of their calls add to gradients that were used before, and how their steps are replayed."""

import pytest
import torch
from torch import nn

from whyloss.laboratory.sandbox import Plan, Rehearsal, untouched
from whyloss.sources.watch import Watch


class Fit:
    """A regression by an optimizer that is given a closure."""

    def __init__(self, kind, clear="", outside=False, parts=1, **settings):
        self.x = torch.randn(24, 5)
        self.y = (self.x[:, :1] * 2 - self.x[:, 1:2]).tanh()
        self.net = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1))
        self.optimizer, self.clear, self.outside, self.parts = kind(self.net.parameters(), **settings), clear, outside, parts

    def clean(self):
        for p in self.net.parameters():
            if self.clear == "none":
                p.grad = None
            elif self.clear == "zero" and p.grad is not None:
                p.grad.zero_()
        if self.clear in ("optimizer", "model"):
            (self.optimizer if self.clear == "optimizer" else self.net).zero_grad()
        if self.clear == "keep":
            self.optimizer.zero_grad(set_to_none=False)

    def closure(self):
        if not self.outside:
            self.clean()
        total = 0.0
        for at in range(self.parts):
            part = (self.net(self.x[at::self.parts]) - self.y[at::self.parts]).square().mean() / self.parts
            part.backward()
            total += part.item()
        return total

    def run(self, steps=6):
        losses = []
        for _ in range(steps):
            if self.outside:
                self.clean()
            losses.append(self.optimizer.step(self.closure))
        return losses


def watched(make, steps=6):
    torch.manual_seed(3)
    fit = make()
    watch = Watch().start()
    try:
        losses = fit.run(steps)
    finally:
        watch.stop()
    assert watch.errors == []
    return watch, losses


def rows(watch):
    return [row for column in watch.evidence.by_subject("closure_step").values() for row in column.values]


L_BFGS = {"kind": torch.optim.LBFGS, "lr": 0.3, "max_iter": 4}
ADAM = {"kind": torch.optim.Adam, "lr": 1e-2}


@pytest.mark.parametrize("clear", ["optimizer", "model", "none", "zero", "keep"])
@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("kind", [L_BFGS, ADAM], ids=["lbfgs", "adam"])
def test_a_closure_that_clears_keeps_nothing_old(clear, parts, kind):
    watch, _ = watched(lambda: Fit(clear=clear, parts=parts, **kind))

    assert len(rows(watch)) == 6 and not any(row["old"] for row in rows(watch))
    assert all(row["calls"] == (1 if kind is ADAM else 4) for row in rows(watch))


def test_a_gradient_that_nobody_clears_is_old_in_all_calls_but_the_first():
    for kind, calls in ((L_BFGS, 4), (ADAM, 1)):
        watch, _ = watched(lambda k=kind: Fit(**k))

        assert [row["old"] for row in rows(watch)] == [calls - 1] + [calls] * 5
        assert all(row["tensors"] == 4 for row in rows(watch)[1:]) and "test_closures.py" in rows(watch)[0]["backward"]


def test_clearing_before_the_step_is_enough_for_an_optimizer_that_calls_once():
    watch, _ = watched(lambda: Fit(clear="optimizer", outside=True, **L_BFGS))
    assert [row["old"] for row in rows(watch)] == [3] * 6

    for kind in (ADAM, L_BFGS | {"max_iter": 1}):
        watch, _ = watched(lambda k=kind: Fit(clear="optimizer", outside=True, **k))
        assert [row["old"] for row in rows(watch)] == [0] * 6


def test_a_closure_may_hand_over_a_loss_that_was_differentiated_before():
    class Before(Fit):
        def run(self, steps=6):
            losses = []
            for _ in range(steps):
                losses.append(self.closure())
                self.optimizer.step(lambda: losses[-1])
            return losses

    for clear, old in (("optimizer", 0), ("", 5)):
        watch, losses = watched(lambda c=clear: Before(clear=c, **ADAM))
        assert sum(row["old"] for row in rows(watch)) == old and not any(row["within"] for row in rows(watch))


def test_parts_of_a_batch_in_a_plain_loop_may_be_zeroed_by_hand():
    class Plain(Fit):
        def run(self, steps=6):
            losses = []
            for _ in range(steps):
                losses.append(self.closure())
                self.optimizer.step()
            return losses

    watch, _ = watched(lambda: Plain(clear="zero", parts=3, **ADAM))
    assert not any(row["tainted"] for column in watch.evidence.by_subject("step").values() for row in column.values)


@pytest.mark.parametrize("clear", ["optimizer", ""])
def test_a_copy_takes_the_same_steps_with_the_closure(clear):
    watch, losses = watched(lambda: Fit(clear=clear, **L_BFGS))

    assert watch.program.ready() is None and watch.program.check_faithful() is None
    with untouched():
        rehearsal = Rehearsal(watch.program, Plan())
        seen = rehearsal.train(6, deadline=float("inf"))
    assert seen == pytest.approx(losses, rel=1e-3, abs=1e-5)
