"""Keras 3 on torch: `model.fit(..., callbacks=[WhylossCallback()])`.

Keras' optimizers have no hooks as torch's have: while a fit runs, the method that applies gradients is heard.
"""

import torch

from whyloss.integrations.watching import Watching, aside, stand_in
from whyloss.sources.monitor import ears
from whyloss.sources.monitor.sample import ACTIVATIONS
from whyloss.sources.monitor.tap import Tap

try:
    import keras
except ImportError as error:
    raise ImportError('WhylossCallback needs Keras 3: pip install "whyloss[keras]"') from error


class WhylossCallback(keras.callbacks.Callback):
    """Watches each `fit`. Options are those of whyloss.Monitor. Only with KERAS_BACKEND=torch, and not with jit_compile=True.

    run       folder for the ledger; Keras has no folder for logs of its own: None is none
    val_loss  name of the validation loss in the logs of an epoch; None: val_loss
    monitor   of the fit that runs, or ran last
    Gradients are seen before the optimizer clips them; with gradient_accumulation_steps, gradients and loss are those of the
    last of the batches that make a step.
    """

    def __init__(self, **options):
        if keras.backend.backend() != "torch":
            raise RuntimeError(f"Keras runs on {keras.backend.backend()}, this callback watches it on torch: set KERAS_BACKEND=torch")
        super().__init__()
        self.watching, self.undo = Watching(**options), []

    @property
    def monitor(self):
        return self.watching.monitor

    @aside
    def on_train_begin(self, logs=None) -> None:
        self._leave()
        if self.model.jit_compile:
            raise RuntimeError("a training step compiled by Keras (jit_compile=True) cannot be watched")
        outer = self.model.optimizer
        inner = getattr(outer, "inner_optimizer", outer)  # of the optimizer that scales losses
        self.watching.begin(_Seen(self.model), step=int(outer.iterations))
        self._hear(outer, inner, stand_in(inner, lambda: [(float(inner.learning_rate), [v.value for v in self.model.trainable_weights])]))

    def _hear(self, outer, inner, stands_in) -> None:
        """The class's method is replaced, not the object's, which may be copied and saved while it trains."""
        watching = self.watching

        def hearing(original):
            def apply(self, grads, trainable_variables=None):
                count = inner.gradient_accumulation_steps
                if self is not inner or not watching.on or count and (int(inner._iterations) + 1) % count:
                    return original(self, grads, trainable_variables)
                stands_in.grad_scale = _scale(outer)
                watching.monitor.before_step(stands_in, (), {})
                original(self, grads, trainable_variables)
                watching.monitor.after_step(stands_in)
            return apply

        self.undo.append(ears._replaced(_owner(inner, "apply"), "apply", hearing))
        self.undo.append(ears._replaced(_owner(outer, "scale_loss"), "scale_loss", ears._hearing_scale))

    def _leave(self) -> None:
        while self.undo:
            self.undo.pop()()

    @aside
    def on_epoch_begin(self, epoch, logs=None) -> None:
        if self.watching.on:
            _listen(self.monitor.sampler, self.model)

    @aside
    def on_epoch_end(self, epoch, logs=None) -> None:
        self.watching.validated(logs)

    @aside
    def on_train_end(self, logs=None) -> None:
        self._leave()
        self.watching.end()


class _Seen(torch.nn.Module):
    """A Keras model as a Monitor looks at one: its weights under their own names. Its layers are no modules of each other."""

    def __init__(self, model):
        super().__init__()
        self.held = (model,)  # in a tuple: no part of this one

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True):
        return ((v.path, v.value) for v in self.held[0].weights)

    def named_modules(self, memo=None, prefix: str = "", remove_duplicate: bool = True):
        return iter(())


class _LayerTap(Tap):
    """A layer, which may end in a ReLU. Of pictures, whose channels come last in Keras, no dead units are counted."""

    def __init__(self, name: str, layer, ear):
        super().__init__(name, layer, ear)
        self.rectifies = isinstance(layer, keras.layers.ReLU) or getattr(layer, "activation", None) is keras.activations.relu

    def hear(self, module, args, output):
        self.relu = self.rectifies and isinstance(output, torch.Tensor) and output.dim() < 4
        super().hear(module, args, output)


def _listen(sampler, model) -> None:
    """Hear the outputs of the layers that have no layers inside, each under its path."""
    if sampler.taps is None or sampler.taps.taps:
        return
    on = sampler.taps.on
    for layer in model._flatten_layers(include_self=False):
        if layer._layers or isinstance(layer, (keras.layers.InputLayer, keras.layers.Flatten, keras.layers.Reshape, keras.layers.Identity)):
            continue
        tap = _LayerTap(layer.path, layer, sampler.activations)
        tap.columns = {quantity: sampler.column(quantity, tap.name) for quantity in (ACTIVATIONS if tap.rectifies else ACTIVATIONS[:2])}
        sampler.taps.taps.append(tap)
    if on:
        sampler.taps.put_on()


def _owner(thing, name: str) -> type:
    return next(kind for kind in type(thing).__mro__ if name in vars(kind))


def _scale(optimizer) -> torch.Tensor | None:
    """What the loss is multiplied by, and so are the gradients that the parameters hold."""
    scale = getattr(optimizer, "dynamic_scale", None) if hasattr(optimizer, "inner_optimizer") else optimizer.loss_scale_factor
    if scale is None:
        return None
    return scale.value.detach() if hasattr(scale, "value") else torch.tensor(float(scale))
