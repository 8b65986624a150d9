"""Each framework's own library trains a small model, bare and watched: the same weights, and numbers that the loop itself confirms."""

import copy
import logging
import pickle
import sys
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from whyloss.alerts import StopTraining

BATCHES, EPOCHS = 6, 2
STEPS = BATCHES * EPOCHS


class Net(nn.Module):
    """`losses`: of each training batch; `before`: a weight before each of them; bad: the batch with a loss that is not finite."""

    def __init__(self, bad=None):
        super().__init__()
        torch.manual_seed(3)
        self.first, self.act, self.drop, self.last = nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 3)
        self.losses, self.before, self.bad = [], [], bad

    def forward(self, x):
        return self.last(self.drop(self.act(self.first(x))))

    def loss(self, x, y):
        if self.training:
            self.before.append(self.first.weight.detach().clone())
        loss = nn.functional.cross_entropy(self(x), y)
        if self.training:
            loss = loss * (float("nan") if len(self.losses) == self.bad else 1.0)
            self.losses.append(loss.item())
        return loss


def data(seed=0):
    x = torch.randn(16 * BATCHES, 8, generator=torch.Generator().manual_seed(seed))
    return TensorDataset(x, x[:, :3].argmax(1))


def done(net, callback, **more):
    return SimpleNamespace(net=net, weights=net.state_dict(), losses=net.losses, before=net.before, weight="first.weight", layer="act",
                           callback=callback, monitor=callback and callback.monitor, **more)


# ---------------------------------------------------------------------- one training in each framework
def train_lightning(folder, options, bad=None, package="lightning.pytorch", **trainer):
    pl = pytest.importorskip(package)
    from whyloss.integrations.lightning import WhylossCallback
    logging.getLogger(package).setLevel(logging.ERROR)

    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = Net(bad)

        def training_step(self, batch, _):
            return self.net.loss(*batch)

        def validation_step(self, batch, _):
            self.log("val_loss", self.net.loss(*batch))

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=1e-2)

    module, callback = Module(), options is not None and WhylossCallback(**options)
    loggers = pl.loggers.CSVLogger(str(folder))
    pl.Trainer(**{"max_epochs": EPOCHS, "accelerator": "cpu", "logger": loggers, "enable_checkpointing": False, "enable_progress_bar": False,
                  "enable_model_summary": False, "callbacks": [callback] if callback else [], **trainer}).fit(
        module, DataLoader(data(), 16), DataLoader(data(1), 48))
    out = done(module.net, callback, folder=folder / "lightning_logs" / "version_0" / "whyloss")
    out.weight, out.layer = "net.first.weight", "net.act"
    return out


def train_transformers(folder, options, bad=None):
    transformers = pytest.importorskip("transformers")
    from whyloss.integrations.transformers import WhylossCallback

    class Model(Net):
        def forward(self, x=None, labels=None):
            return {"logits": Net.forward(self, x)} if labels is None else {"loss": self.both(x, labels)}

        def both(self, x, y):
            self.forward, kept = lambda x: Net.forward(self, x), self.forward
            try:
                return self.loss(x, y)
            finally:
                del self.forward, kept

    model, callback = Model(bad), options is not None and WhylossCallback(**options)
    rows = [{"x": x, "labels": y} for x, y in data()]
    arguments = transformers.TrainingArguments(
        output_dir=str(folder), num_train_epochs=EPOCHS, per_device_train_batch_size=16, learning_rate=1e-2, report_to="none", save_strategy="no",
        use_cpu=True, disable_tqdm=True, eval_strategy="epoch", logging_steps=1000, prediction_loss_only=True, max_grad_norm=0.0,
        logging_nan_inf_filter=False, dataloader_pin_memory=False)
    trainer = transformers.Trainer(model=model, args=arguments, train_dataset=rows, eval_dataset=[{"x": x, "labels": y} for x, y in data(1)],
                                   callbacks=[callback] if callback else [])
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train()
    return done(model, callback, folder=folder / "whyloss")


def train_accelerate(folder, options, bad=None):
    accelerate = pytest.importorskip("accelerate")
    from whyloss.integrations.accelerate import watch
    configuration = accelerate.utils.ProjectConfiguration(project_dir=str(folder), logging_dir=str(folder / "logs"))
    accelerator = accelerate.Accelerator(cpu=True, project_config=configuration)
    net = Net(bad)
    model, optimizer, loader = accelerator.prepare(net, torch.optim.Adam(net.parameters(), lr=1e-2), DataLoader(data(), 16))
    monitor = watch(accelerator, model, optimizer, **options) if options is not None else None
    for _ in range(EPOCHS):
        for x, y in loader:
            accelerator.backward(model.loss(x, y))
            optimizer.step()
            optimizer.zero_grad()
        net.eval()
        with torch.no_grad():
            value = net.loss(*data(1).tensors)
        if monitor:
            monitor.validation(None, value)
        net.train()
    if monitor:
        monitor.close()
    return done(net, monitor and SimpleNamespace(monitor=monitor, watching=monitor), folder=folder / "logs" / "whyloss")


def train_ignite(folder, options, bad=None):
    pytest.importorskip("ignite")
    from ignite.engine import Engine, Events
    from ignite.metrics import Average

    from whyloss.integrations.ignite import attach
    net = Net(bad)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

    def update(engine, batch):
        net.train()
        optimizer.zero_grad()
        net.loss(*batch).backward()
        optimizer.step()

    def evaluate(engine, batch):
        net.eval()
        with torch.no_grad():
            return net.loss(*batch).item()

    trainer, evaluator = Engine(update), Engine(evaluate)
    Average().attach(evaluator, "loss")
    trainer.add_event_handler(Events.EPOCH_COMPLETED, lambda _: evaluator.run(DataLoader(data(1), 48)))
    attached = None if options is None else attach(trainer, net, evaluator=evaluator, **{"run": folder / "whyloss", **options})
    trainer.logger.setLevel(logging.CRITICAL)
    trainer.run(DataLoader(data(), 16), max_epochs=EPOCHS)
    return done(net, attached, folder=folder / "whyloss", engines=(trainer, evaluator))


def train_fastai(folder, options, bad=None, opt=None, cbs=()):
    pytest.importorskip("fastai")
    import fastai.callback.progress  # noqa: F401 (gives a Learner `no_bar`)
    from fastai.basics import DataLoader as Loader
    from fastai.basics import DataLoaders, Learner

    from whyloss.integrations.fastai import WhylossCallback
    net = Net(bad)

    def loss(prediction, y):  # the model is called before its loss is
        value = nn.functional.cross_entropy(prediction, y)
        if net.training:
            net.before.append(net.first.weight.detach().clone())
            value = value * (float("nan") if len(net.losses) == bad else 1.0)
            net.losses.append(value.item())
        return value

    callback = None if options is None else WhylossCallback(**{"run": folder / "whyloss", **options})
    loaders = DataLoaders(Loader(data(), 16), Loader(data(1), 48))
    learn = Learner(loaders, net, loss_func=loss, path=folder, cbs=[*cbs, *([callback] if callback else [])], **({"opt_func": opt} if opt else {}))
    with learn.no_bar(), learn.no_logging():
        learn.fit(EPOCHS, lr=1e-2)
    return done(net, callback, folder=folder / "whyloss", learn=learn)


def train_fastai_torch(folder, options, bad=None):
    pytest.importorskip("fastai")
    from fastai.optimizer import OptimWrapper
    return train_fastai(folder, options, bad, opt=lambda params, lr: OptimWrapper(params, torch.optim.Adam, lr=lr))


def train_keras(folder, options, bad=None, optimizer=None, layers=()):
    keras = pytest.importorskip("keras")
    from whyloss.integrations.keras import WhylossCallback
    keras.utils.set_random_seed(3)
    keras.backend.clear_session()
    model = keras.Sequential([keras.layers.Input((8,)), *layers, keras.layers.Dense(16, activation="relu", name="first"), keras.layers.Dropout(0.1),
                              keras.layers.Dense(3, name="last")], name="net")
    losses, before = [], []

    def loss(y, prediction):
        value = nn.functional.cross_entropy(prediction, y.long().reshape(-1))
        if model.training:
            before.append(model.get_layer("first").kernel.value.detach().clone())
            value = value * (float("nan") if len(losses) == bad else 1.0)
            losses.append(value.item())
        return value

    model.compile(optimizer or keras.optimizers.Adam(1e-2), loss, run_eagerly=True)
    callback = None if options is None else WhylossCallback(**{"run": folder / "whyloss", **options})
    x, y = (t.numpy() for t in data().tensors)
    # Keras tries a model out before the training begins
    begun = keras.callbacks.LambdaCallback(on_train_begin=lambda logs: (losses.clear(), before.clear()))
    model.fit(x, y, batch_size=16, epochs=EPOCHS, verbose=0, shuffle=False, validation_data=tuple(t.numpy() for t in data(1).tensors),
              callbacks=[begun, *([callback] if callback else [])])
    weights = {v.path: torch.tensor(v.numpy()) for v in model.weights}
    return SimpleNamespace(weights=weights, losses=losses, before=before, weight="net/first/kernel", layer="net/first", callback=callback,
                           monitor=callback and callback.monitor, folder=folder / "whyloss", model=model)


LOOPS = {"lightning": train_lightning, "transformers": train_transformers, "accelerate": train_accelerate, "ignite": train_ignite,
         "fastai": train_fastai, "fastai with an optimizer of torch's": train_fastai_torch, "keras": train_keras}
every_framework = pytest.mark.parametrize("train", LOOPS.values(), ids=LOOPS)


def series(trained, quantity, subject="run"):
    found = trained.monitor.history.series(quantity, subject, "main")
    return list(found.steps), list(found.values)


# ---------------------------------------------------------------------- what holds for all of them
@every_framework
def test_watched_weights_are_bit_for_bit_those_of_the_bare_training(train, tmp_path):
    bare, watched = train(tmp_path / "bare", None), train(tmp_path / "watched", {"every": 1})
    assert watched.monitor.problem is None and watched.callback.watching.problem is None
    assert watched.losses == bare.losses and len(bare.losses) == STEPS
    assert all(torch.equal(bare.weights[name], watched.weights[name]) for name in bare.weights)
    # every loss and every change of a weight, as the loop itself saw them
    steps, losses = series(watched, "loss")
    assert steps == list(range(STEPS)) and losses == pytest.approx(watched.losses, rel=1e-6)
    steps, ratios = series(watched, "update_ratio", watched.weight)
    after = [*watched.before[1:], watched.weights[watched.weight.removeprefix("net.")]]
    expected = [float((b - a).norm() / a.norm()) for a, b in zip(watched.before, after)]
    assert steps == list(range(STEPS)) and ratios == pytest.approx(expected, rel=1e-4)
    assert len(series(watched, "grad_norm", watched.weight)[1]) == STEPS
    assert len(series(watched, "dead_share", watched.layer)[1]) == STEPS
    assert not watched.monitor.not_observed
    # the validation loss of each epoch, and the ledger where the framework keeps its logs
    steps, values = series(watched, "val_loss")
    assert steps == [BATCHES, STEPS] and all(0 < value < 3 for value in values)
    assert (watched.folder / "frames.db").exists()
    assert not watched.monitor.attached


@every_framework
def test_a_mistake_of_ours_is_told_once_and_the_training_goes_on(train, tmp_path, monkeypatch, capsys):
    from whyloss.sources.monitor import Monitor
    monkeypatch.setattr(Monitor, "_after", lambda *a: 1 / 0)
    monkeypatch.setattr(Monitor, "validation", lambda *a: 1 / 0) if train is not train_accelerate else None
    trained = train(tmp_path, {"every": 1})
    assert len(trained.losses) == STEPS and "ZeroDivisionError" in trained.monitor.problem and not trained.monitor.attached
    assert capsys.readouterr().err.count("whyloss: problem") == 1


@every_framework
def test_a_loss_that_is_not_finite_stops_the_training_where_that_was_asked_for(train, tmp_path):
    heard = []
    with pytest.raises(StopTraining, match="nan at step 4"):
        train(tmp_path, {"every": 1, "stop_on_nonfinite": True, "on_alert": heard.append}, bad=4)
    assert [(alert.kind, alert.step) for alert in heard] == [("loss-not-finite", 4)]


@every_framework
def test_an_option_that_does_not_exist_is_told_at_once(train, tmp_path):
    with pytest.raises(TypeError, match="evry"):
        train(tmp_path, {"evry": 1})


def test_a_callback_that_fails_where_it_begins_leaves_the_training_alone(tmp_path, monkeypatch, capsys):
    from whyloss.integrations.watching import Watching
    monkeypatch.setattr(Watching, "begin", lambda *a, **k: 1 / 0)
    for train in (train_lightning, train_transformers, train_ignite, train_fastai, train_keras):
        trained = train(tmp_path / train.__name__, {})
        assert len(trained.losses) == STEPS and "ZeroDivisionError" in trained.callback.watching.problem
        assert capsys.readouterr().err.count("whyloss: problem") == 1


# ---------------------------------------------------------------------- Lightning
def test_the_other_package_of_lightning_is_watched_too(tmp_path):
    trained = train_lightning(tmp_path, {"every": 1}, package="pytorch_lightning")
    assert series(trained, "loss")[0] == list(range(STEPS)) and len(series(trained, "val_loss")[0]) == EPOCHS


def test_a_resumed_lightning_run_goes_on_counting(tmp_path):
    first = train_lightning(tmp_path / "a", {"every": 1}, max_epochs=1, enable_checkpointing=True)
    assert first.folder.exists()
    pl = sys.modules["lightning.pytorch"]
    saved = next((tmp_path / "a").rglob("*.ckpt"))
    fit = pl.Trainer.fit

    class Resumed(pl.Trainer):
        def fit(self, *args):
            return fit(self, *args, ckpt_path=saved)
    pl.Trainer, kept = Resumed, pl.Trainer
    try:
        trained = train_lightning(tmp_path / "b", {"every": 1})
    finally:
        pl.Trainer = kept
    assert series(trained, "loss")[0] == list(range(BATCHES, STEPS))


def test_lightning_without_a_logger_writes_nothing_and_keeps_the_numbers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trained = train_lightning(tmp_path, {"every": 1}, logger=False)
    assert len(series(trained, "loss")[0]) == STEPS and not list(tmp_path.rglob("*.db"))


def test_the_ledger_of_each_kind_of_logger_lies_in_the_folder_of_its_run():
    pytest.importorskip("lightning")
    from whyloss.integrations.lightning import folder
    trainer = SimpleNamespace(loggers=[], world_size=1, checkpoint_callback=None, default_root_dir="root")
    assert folder(trainer) is None
    trainer.loggers = [SimpleNamespace(save_dir="logs", name="project", version="a1b2")]  # W&B, MLflow
    assert folder(trainer) == "logs/project/a1b2"
    trainer.loggers = [SimpleNamespace(save_dir=None, name=None, version=3)]
    assert folder(trainer) == "root/version_3"
    # with several ranks no logger is asked, whose version may differ, and no rank waits for another
    trainer.world_size, trainer.checkpoint_callback = 2, SimpleNamespace(dirpath="logs/version_0/checkpoints/")
    assert folder(trainer) == "logs/version_0"


def test_numbers_go_to_the_loggers_of_lightning_where_that_was_asked_for(tmp_path):
    pytest.importorskip("lightning")
    train_lightning(tmp_path, {"every": 1, "to_loggers": True, "quantities": ("loss", "grad_norm")})
    header = next(tmp_path.rglob("metrics.csv")).read_text().splitlines()[0]
    assert "whyloss/loss/run" in header and "whyloss/grad_norm/net.first.weight" in header and "activation" not in header


# ---------------------------------------------------------------------- Ignite, fastai, Keras
def test_what_ignite_gave_takes_everything_off_again(tmp_path):
    trained = train_ignite(tmp_path, {"every": 1})
    trained.callback.detach()
    assert not any(handlers for engine in trained.engines for event, handlers in engine._event_handlers.items()
                   for handler, *_ in handlers if getattr(handler, "__self__", None) is trained.callback)
    steps = len(trained.losses)
    trained.engines[0].run(DataLoader(data(), 16), max_epochs=EPOCHS + 1)
    assert len(trained.losses) > steps and len(series(trained, "loss")[0]) == STEPS


def test_fastai_searching_a_rate_and_validating_is_no_training(tmp_path):
    trained = train_fastai(tmp_path, {"every": 1, "run": False})
    import fastai.callback.schedule  # noqa: F401 (gives a Learner `lr_find`)
    monitor = trained.monitor
    with trained.learn.no_bar(), trained.learn.no_logging():
        trained.learn.validate()
        trained.learn.get_preds()
        trained.learn.lr_find(num_it=3, show_plot=False)
        assert trained.callback.monitor is monitor
        trained.learn.fit(1)
    assert trained.callback.monitor is not monitor and trained.callback.monitor.step == STEPS + BATCHES
    again = pickle.loads(pickle.dumps(trained.callback.watching))  # a Learner is exported with its callbacks
    assert again.monitor is None and again.options == {"every": 1} and copy.deepcopy(trained.callback.watching).run is False


def test_steps_that_fastai_accumulates_are_one_step(tmp_path):
    pytest.importorskip("fastai")
    from fastai.callback.training import GradientAccumulation, GradientClip
    trained = train_fastai(tmp_path, {"every": 1}, cbs=[GradientAccumulation(32), GradientClip(1e-3)])
    assert trained.monitor.step == STEPS // 2
    assert max(series(trained, "grad_norm")[1]) <= 1.001e-3


def test_scaled_and_accumulated_steps_of_keras_are_seen_as_they_are(tmp_path):
    keras = pytest.importorskip("keras")
    plain = train_keras(tmp_path / "plain", {"every": 1})
    scaling = keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(1e-2), initial_scale=1024.0)
    scaled = train_keras(tmp_path / "scaled", {"every": 1}, optimizer=scaling)
    assert series(scaled, "loss")[1] == pytest.approx(scaled.losses, rel=1e-5)
    assert series(scaled, "grad_norm")[1] == pytest.approx(series(plain, "grad_norm")[1], rel=1e-3)
    accumulated = train_keras(tmp_path / "accumulated", {"every": 1}, optimizer=keras.optimizers.Adam(1e-2, gradient_accumulation_steps=2))
    assert accumulated.monitor.step == STEPS // 2 and min(series(accumulated, "update_ratio", accumulated.weight)[1]) > 0


def test_nothing_of_ours_stays_on_keras(tmp_path):
    keras = pytest.importorskip("keras")
    from keras.src.optimizers.base_optimizer import BaseOptimizer
    before = BaseOptimizer.apply, BaseOptimizer.scale_loss
    trained = train_keras(tmp_path, {"every": 1}, layers=(keras.layers.Reshape((2, 2, 2)), keras.layers.Conv2D(4, 1, activation="relu", name="conv"),
                                                         keras.layers.Flatten()))
    assert (BaseOptimizer.apply, BaseOptimizer.scale_loss) == before
    assert not any(layer._forward_hooks for layer in trained.model.layers)
    # channels come last: no dead units are counted there, moments are
    assert len(series(trained, "activation_std", "net/conv")[1]) == STEPS and not series(trained, "dead_share", "net/conv")[1]
