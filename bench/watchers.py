"""Other ways of watching a training, for `overhead.py`: hooks as tutorials write them, and the installable tools, each at every step.

Each is a context manager around a `Training` that knows `model`, `optimizer`, and what is called around its step: `before(loss)` behind
backward, `after()` behind the optimizer's step, `backward(loss)` in place of `loss.backward()`.
"""

import contextlib
import io
import tempfile

import torch
from torch import nn


@contextlib.contextmanager
def tutorial(training):
    """As the tutorials show it: a hook on each layer, .item() on everything, a clone of each weight. As much as whyloss measures."""
    seen, handles, kept = {}, [], {}

    def hook(name, relu):
        def hear(module, args, output):
            seen[name] = (output.mean().item(), output.std().item(), torch.isnan(output).any().item(), torch.isinf(output).any().item(),
                          (output <= 0).all(0).float().mean().item() if relu else 0)
        return hear

    def before(loss):
        seen["loss"] = loss.item()
        for name, p in training.model.named_parameters():
            seen[name] = (p.grad.norm().item(), p.norm().item())
            kept[name] = p.detach().clone()

    def after():
        for name, p in training.model.named_parameters():
            seen[name + ".update"] = (p.detach() - kept[name]).norm().item() / (p.norm().item() + 1e-12)

    for name, module in training.model.named_modules():
        if not list(module.children()):
            handles.append(module.register_forward_hook(hook(name, isinstance(module, nn.ReLU))))
    training.before, training.after = before, after
    yield
    for handle in handles:
        handle.remove()


def wandb_watch(log):
    """Histograms of gradients, and of parameters ("all"). Its writer is another process, which is not counted."""
    @contextlib.contextmanager
    def watch(training):
        import wandb
        with tempfile.TemporaryDirectory() as folder:
            run = wandb.init(mode="offline", dir=folder, settings=wandb.Settings(silent=True))
            run.watch(training.model, log=log, log_freq=1)
            training.after = lambda: run.log({"a": 1})
            try:
                yield
            finally:
                run.unwatch(training.model)
                run.finish()
    return watch


@contextlib.contextmanager
def fastai_stats(training):
    """fastai's ActivationStats: mean, std and share near zero of modules with parameters. No gradients, no weights."""
    from fastai.callback.hook import Hooks
    from fastai.torch_core import to_detach

    def stats(module, inputs, output):
        output = to_detach(output)
        return output.mean().item(), output.std().item(), (output.abs() < 0.05).long().sum().item() / output.numel()

    hooks = Hooks([m for m in training.model.modules() if not list(m.children()) and list(m.parameters())], stats)
    yield
    hooks.remove()


@contextlib.contextmanager
def lightning_norms(training):
    """Lightning's grad_norm in on_before_optimizer_step: gradients only."""
    from lightning.pytorch.utilities import grad_norm

    training.before = lambda loss: {name: float(value) for name, value in grad_norm(training.model, 2).items()}
    yield


@contextlib.contextmanager
def torch_audit_each(training):
    from torch_audit import autopatch

    with contextlib.redirect_stdout(io.StringIO()):
        auditor = autopatch(training.model, optimizer=training.optimizer, every_n_steps=1, reporters=[], run_static=False, run_init=False)
        yield
        auditor.unpatch()


@contextlib.contextmanager
def traintools_health(training):
    """GradientHealthMonitor: gradients, and updates as rate times gradient. No activations."""
    from traintools import GradientHealthMonitor

    monitor, rate = GradientHealthMonitor(), training.optimizer.param_groups[0]["lr"]
    training.before = lambda loss: monitor.inspect(training.model, step=0, lr=rate)
    yield


@contextlib.contextmanager
def cockpit_economy(training):
    """Cockpit's cheap configuration, at every step. It wants the loss of each example, by BackPACK."""
    from backpack import extend
    from cockpit import Cockpit
    from cockpit.utils.configuration import configuration

    extend(training.model)
    criterion, each = extend(nn.CrossEntropyLoss()), nn.CrossEntropyLoss(reduction="none")
    pit, step = Cockpit(training.model.parameters(), quantities=configuration("economy")), iter(range(1 << 40))

    def loss():
        output = training.model(training.x)
        loss, single = criterion(output, training.y), each(output, training.y)
        training.told = {"batch_size": len(training.y), "individual_losses": single, "loss": loss, "optimizer": training.optimizer}
        return loss

    def backward(loss):
        with pit(next(step), info=training.told):
            loss.backward(create_graph=pit.create_graph(0))

    training.loss, training.backward = loss, backward
    yield


OTHERS = {"tutorial hooks": tutorial, "wandb.watch, all": wandb_watch("all"), "wandb.watch, gradients": wandb_watch("gradients"),
          "fastai ActivationStats": fastai_stats, "Lightning grad_norm": lightning_norms, "torch-audit": torch_audit_each,
          "traintools": traintools_health, "Cockpit economy": cockpit_economy}
NEED = {"wandb.watch, all": "wandb", "wandb.watch, gradients": "wandb", "fastai ActivationStats": "fastai", "Lightning grad_norm": "lightning",
        "torch-audit": "torch_audit", "traintools": "traintools", "Cockpit economy": "cockpit"}
ENLARGES = {"Cockpit economy"}   # changes the model for good: measured on one of its own
