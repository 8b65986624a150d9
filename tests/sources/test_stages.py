"""Several trainings in one script: each is one curve, and the one to be judged is the last of which nothing better is known."""

import copy

import torch
from torch import nn

from whyloss.evidence import Evidence
from whyloss.sources.stages import chosen
from whyloss.sources.watch import Watch


def watched(function):
    torch.manual_seed(3)
    watch = Watch().start()
    try:
        function()
    finally:
        watch.stop()
    assert not watch.errors, watch.errors
    return watch


def fit(model, optimizer, outputs, steps=30):
    for _ in range(steps):
        x = torch.randn(16, 4)
        loss = nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long() % outputs)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def test_the_second_training_has_its_own_curve_tapes_and_optimizer():
    def script():
        first = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(first.parameters(), lr=0.1)
        fit(first, optimizer, 2, steps=25)
        second = nn.Sequential(copy.deepcopy(first), nn.Linear(2, 3))
        fit(second, optimizer, 3, steps=32)

    watch = watched(script)

    assert len(watch.evidence.series("loss")) == 32
    assert watch.evidence.fact("stages") == {"seen": 2, "judged": 2}
    assert next(iter(watch.evidence.by_subject("optimizer").values())).last.value["foreign"] == 2
    assert watch.program.check_faithful() is None


def test_models_that_take_turns_are_one_training():
    def script():
        a, b = nn.Linear(4, 2), nn.Linear(4, 2)
        optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (a, b)]
        fit(a, optimizers[0], 2, steps=20)
        for _ in range(12):
            fit(b, optimizers[1], 2, steps=1)
            fit(a, optimizers[0], 2, steps=1)

    watch = watched(script)

    assert not watch.stages.earlier and watch.stages.turns
    assert len(watch.evidence.series("loss")) >= 40


def test_one_training_says_nothing_of_stages():
    def script():
        model = nn.Linear(4, 2)
        fit(model, torch.optim.SGD(model.parameters(), lr=0.1), 2)

    assert not watched(script).evidence.has("stages")


def told(losses, fresh=2, place="train.py:9"):
    evidence = Evidence()
    for step, value in enumerate(losses):
        evidence.add("loss", value, step=step)
        evidence.add("step", {"fresh": fresh}, subject="SGD", step=step)
    evidence.add("main_loss_place", place)
    return evidence


def test_of_repetitions_the_one_that_got_farthest_is_judged():
    learns, rests = [1.0 - 0.03 * i for i in range(30)], [1.0] * 30

    assert chosen([told(learns), told(rests)]) == 0
    assert chosen([told(learns), told(rests, place="train.py:30")]) == 1
    assert chosen([told(rests), told(learns)]) == 1


def test_a_training_whose_optimizer_never_found_a_gradient_is_no_attempt():
    assert chosen([told([1.0 - 0.03 * i for i in range(30)]), told([1.0] * 30, fresh=0)]) == 1


def test_a_loop_with_autograd_grad_is_a_training():
    def script():
        weight = torch.zeros(4, 2, requires_grad=True)
        for _ in range(12):
            x = torch.randn(16, 4)
            (slope,) = torch.autograd.grad(nn.functional.cross_entropy(x @ weight, (x[:, 0] > 0).long()), [weight])
            with torch.no_grad():
                weight -= 0.5 * slope

    watch = watched(script)

    assert len(watch.evidence.series("loss")) == 12
    assert [column.last.value["changed"] for column in watch.evidence.by_subject("parameter").values()] == [True]


def test_torch_func_gives_the_same_gradients_and_losses():
    weights, x = {"w": torch.randn(4)}, torch.randn(8, 4)

    def error(weights, x):
        return (x @ weights["w"]).square().mean()

    plain = torch.func.grad(error)(weights, x)["w"]
    seen = []

    def script():
        for _ in range(6):
            seen.append(torch.func.grad(error)(weights, x)["w"])
            seen.append(torch.func.grad_and_value(error)(weights, x)[0]["w"])

    watch = watched(script)

    assert all(torch.equal(plain, each) for each in seen)
    assert [row["moved"] for row in next(iter(watch.evidence.by_subject("functional_grad").values())).values][1:] == [False] * 5


def two_layers():
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def test_a_model_trained_further_by_the_same_lines_is_judged_by_its_last_stage():
    def script():
        model = two_layers()
        fit(model, torch.optim.Adam(model.parameters(), lr=0.05), 2, steps=60)
        model[2] = nn.Linear(8, 2)
        for parameter in model[0].parameters():
            parameter.requires_grad = False
        fit(model, torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=1e-9), 2, steps=25)

    watch = watched(script)

    assert watch.evidence.fact("stages") == {"seen": 2, "judged": 2} and watch.evidence.fact("stage_goes_on") is True
    assert len(watch.evidence.series("loss")) == 25


def test_another_model_that_begins_with_what_was_learned_is_a_training_further():
    def script(trained):
        first = two_layers()
        start = {name: value.clone() for name, value in first.state_dict().items()}
        fit(first, torch.optim.Adam(first.parameters(), lr=0.05), 2, steps=60)
        model = two_layers()
        model.load_state_dict(first.state_dict() if trained else start)
        fit(model, torch.optim.SGD(model.parameters(), lr=1e-9), 2, steps=25)

    further, again = watched(lambda: script(True)), watched(lambda: script(False))

    assert further.evidence.fact("stage_goes_on") is True and further.evidence.fact("stages") == {"seen": 2, "judged": 2}
    assert again.evidence.fact("stages") == {"seen": 2, "judged": 1}


def test_folds_with_a_new_model_each_are_told_by_the_one_that_got_farthest():
    def script():
        for rate in (0.05, 1e-9):
            model = two_layers()
            fit(model, torch.optim.Adam(model.parameters(), lr=rate), 2, steps=60)

    watch = watched(script)

    assert watch.evidence.fact("stages") == {"seen": 2, "judged": 1}


def test_an_optimizer_made_anew_for_each_epoch_begins_no_stage():
    def script():
        model = two_layers()
        for _ in range(4):
            fit(model, torch.optim.Adam(model.parameters(), lr=0.05), 2, steps=15)

    watch = watched(script)

    assert not watch.stages.earlier and len(watch.evidence.series("loss")) == 60
