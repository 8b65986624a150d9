"""A model handed over instead of a script: a short training of a copy under a watch. The caller's objects stay as they were."""

import copy
import inspect
from typing import Any, Callable, Iterable

import torch

from whyloss.errors import BadInput
from whyloss.sources.structure import map_tensors, tensors_in
from whyloss.sources.watch import Watch


def as_batches(data: Any, batch_size: int, *, shuffle: bool = True) -> Iterable:
    """Batches from (x, y) tensors or arrays, a Dataset, or anything that yields batches. Raises BadInput."""
    if isinstance(data, (tuple, list)) and len(data) == 2 and all(hasattr(part, "__len__") and hasattr(part, "shape") for part in data):
        x, y = (torch.as_tensor(part) for part in data)
        if len(x) != len(y):
            raise BadInput(f"inputs and targets differ in length: {len(x)} and {len(y)}")
        return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=batch_size, shuffle=shuffle)
    if isinstance(data, torch.utils.data.Dataset) and hasattr(data, "__len__"):
        return torch.utils.data.DataLoader(data, batch_size=batch_size, shuffle=shuffle)
    if hasattr(data, "__iter__"):
        return data
    raise BadInput(f"cannot take batches from {type(data).__name__}: give (x, y), a Dataset, a DataLoader or an iterable of batches")


def loss_of(model, loss_fn: Callable, batch: Any) -> torch.Tensor:
    """loss_fn(model, batch) when its first parameter is called model or net, else loss_fn(model(input), target)."""
    if _takes_model(loss_fn):
        return loss_fn(model, batch)
    if isinstance(batch, dict):
        values = list(batch.values())
    elif isinstance(batch, (tuple, list)):
        values = list(batch)
    else:
        raise BadInput(f"a batch is a {type(batch).__name__}; with loss_fn(output, target) it must be (input, target)")
    if len(values) < 2:
        raise BadInput("a batch holds no target; give loss_fn(model, batch)")
    return loss_fn(model(values[0]), values[1])


def _takes_model(loss_fn: Callable) -> bool:
    if isinstance(loss_fn, torch.nn.Module):
        return False
    try:
        names = list(inspect.signature(loss_fn).parameters)
    except (TypeError, ValueError):
        return False
    return bool(names) and names[0] in ("model", "net", "module")


def copies(model, optimizer):
    """(model, optimizer) copied together; tensors the optimizer holds that are not the model's stay foreign."""
    if not isinstance(model, torch.nn.Module):
        raise BadInput(f"model is a {type(model).__name__}, a torch.nn.Module is needed")
    memo: dict = {}
    twin = copy.deepcopy(model, memo)
    twin.zero_grad(set_to_none=True)
    if optimizer is None:
        return twin, torch.optim.Adam([p for p in twin.parameters() if p.requires_grad], lr=1e-3)
    if isinstance(optimizer, torch.optim.Optimizer):
        return twin, copy.deepcopy(optimizer, memo)
    if callable(optimizer):
        return twin, optimizer(twin.parameters())
    raise BadInput(f"optimizer is a {type(optimizer).__name__}: give an Optimizer, a function params -> Optimizer, or None")


def train_watched(model, loss_fn, train, val=None, optimizer=None, *, steps: int = 200, batch_size: int = 64, seed: int = 0) -> Watch:
    """Train a copy for up to `steps` steps under a watch. -> the stopped watch."""
    python = torch.get_rng_state()
    try:
        torch.manual_seed(seed)
        batches = as_batches(train, batch_size)
        checked = as_batches(val, batch_size, shuffle=False) if val is not None else None
        watch = Watch().start()
        try:
            twin, stepper = copies(model, optimizer)
            if stepper.param_groups and id(stepper) not in watch.optimizers:
                watch.optimizer_made(stepper, None)
            _loop(twin, stepper, loss_fn, batches, checked, steps)
        finally:
            watch.stop()
        return watch
    finally:
        torch.set_rng_state(python)


def _loop(model, optimizer, loss_fn, batches, checked, steps: int) -> None:
    done = 0
    while done < steps:
        before = done
        for batch in batches:
            if done >= steps:
                break
            loss = loss_of(model, loss_fn, batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            done += 1
        if done == before:
            raise BadInput("the training data gave no batch")
        if checked is not None:
            was = model.training
            model.eval()
            with torch.no_grad():
                for batch in checked:
                    loss_of(model, loss_fn, batch)
            model.train(was)


def tiny(batch: Any, count: int) -> Any:
    """The first `count` samples of a batch."""
    size = next(tensors_in(batch)).shape[0]
    return map_tensors(batch, lambda t: t[:count] if t.dim() and t.shape[0] == size else t)
