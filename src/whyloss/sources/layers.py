"""Per-layer numbers of traced steps: shapes entering and leaving, activation statistics, dead and saturated units."""

import torch

from whyloss.sources import meters
from whyloss.sources.structure import tensors_in

_RELUS = {"relu", "relu_", "relu6"}
_SQUASHERS = {"sigmoid": "sigmoid", "sigmoid_": "sigmoid", "tanh": "tanh", "tanh_": "tanh", "hardtanh": "tanh"}
_DROPOUTS = {"dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"}
_LAYERS = {"linear", "conv1d", "conv2d", "conv3d", "bilinear", "matmul", "__matmul__", "addmm"}
_UNION = 12  # batches over which a unit must never be active to count as dead


class Layers:
    """Part of a Watch: what happens inside the model."""

    def __init__(self, watch):
        self.watch = watch
        self.shapes: dict[str, tuple] = {}
        self.kinds: dict[str, str] = {}
        self.order: list[str] = []
        self.never_active: dict[str, list[torch.Tensor]] = {}
        self.places: dict[str, str | None] = {}
        self.first_inputs: list = []
        self.seen_modules: dict[str, torch.nn.Module] = {}
        self.called: dict[int, torch.nn.Module] = {}

    def root_called(self, window, module, args, kwargs, result, where) -> None:
        window.roots.append(id(module))
        if not window.evaluation:
            self.watch.root_last[id(module)] = self.watch.window_count
        if window.evaluation or not window.traced:
            return
        inputs = [t for t in tensors_in((args, kwargs))]
        outputs = [t for t in tensors_in(result)]
        window.calls.append((module, inputs, outputs, where))
        self._shape("(model)" if len(self.watch.program.modules) < 2 else type(module).__name__, module, inputs, outputs)

    def module_called(self, window, name: str, module, args, result) -> None:
        inputs, outputs = list(tensors_in(args)), list(tensors_in(result))
        self._shape(name, module, inputs, outputs)
        self.seen_modules[name] = module
        self.called[id(module)] = module
        if outputs and outputs[0].is_floating_point() and next(module.children(), None) is None:
            for quantity, value in meters.activation(outputs[0]).items():
                self.watch.observe(quantity, value, name)
        if type(module).__name__.startswith(("Dropout", "BatchNorm", "AlphaDropout")):
            self.watch.observe("mode_in_loss", bool(module.training), name)

    def _shape(self, name, module, inputs, outputs) -> None:
        if name not in self.shapes:
            self.order.append(name)
            self.kinds[name] = type(module).__name__
            self.shapes[name] = (shape_text(inputs), shape_text(outputs))

    def operation(self, window, step) -> None:
        """ReLU, sigmoid and tanh are looked at as operations, so functional calls count like modules."""
        if step.name in _DROPOUTS:
            self._dropout(step)
            return
        kind = "relu" if step.name in _RELUS or step.name == "clamp_min" else _SQUASHERS.get(step.name)
        if kind is None or not step.outputs:
            return
        output = window.meta[step.outputs[0]].tensor
        if output.dim() < 2 or not output.is_floating_point():
            return
        name = self._site(window, step)
        if name not in self.places:
            self.places[name] = step.place
            self.watch.observe("activation_layer", self._layer(window, step), name)
        if kind == "relu":
            never = meters.dead_units(output)
            history = self.never_active.setdefault(name, [])
            if history and history[-1].shape != never.shape:
                history.clear()
            history.append(never)
            del history[:-_UNION]
            self.watch.observe("dead_share", float(never.float().mean()), name)
            union = torch.stack(history).all(0)
            self.watch.observe("dead_over_batches", float(union.float().mean()), name)
            self.watch.observe("relu_units", int(never.numel()), name, 0) if len(history) == 1 else None
        else:
            self.watch.observe("saturated_share", meters.saturated_share(output, kind), name)
        signal = meters.activation(output).get("signal")
        if signal is not None:
            self.watch.observe("signal", signal, name)

    def _dropout(self, step) -> None:
        """A functional call counts like a module; what it drops is what it was called with."""
        p = step.kwargs.get("p", step.args[1] if len(step.args) > 1 else 0.5)
        active = step.kwargs.get("training", step.args[2] if len(step.args) > 2 else True)
        if active and isinstance(p, (int, float)) and p > 0:
            self.watch.observe("dropout", {"p": float(p), "place": step.place}, step.module or step.place or "?")

    def _layer(self, window, step) -> str | None:
        """The linear or convolutional layer whose units these are: where their weights and biases live."""
        at = step.inputs[0] if step.inputs else None
        for _ in range(6):
            maker = window.meta[at].maker if at is not None else -1
            if maker < 0:
                return None
            made = window.trace[maker]
            if made.name in _LAYERS:
                return made.module or None
            at = made.inputs[0] if made.inputs else None
        return None

    def _site(self, window, step) -> str:
        """A name for the activation: its own module's, or the producing layer's with the function's name."""
        module = step.module
        if module and getattr(self.watch.recorder.path[-1][1], "_modules", None) == {}:
            return module
        maker = window.meta[step.inputs[0]].maker if step.inputs else -1
        for _ in range(4):
            if maker < 0:
                break
            made = window.trace[maker]
            if made.module and made.module != module:
                return f"{made.module}:{step.name.rstrip('_')}"
            maker = window.meta[made.inputs[0]].maker if made.inputs else -1
        line = step.place.rsplit(":", 1)[-1] if step.place else "?"
        return f"{module + '.' if module else ''}{step.name.rstrip('_')}@{line}"


def shape_text(tensors) -> str:
    return " ".join("(" + ", ".join(map(str, t.shape)) + ")" for t in tensors[:3])
