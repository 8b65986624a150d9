"""What becomes of weights that a script loads: keys that matched, and whether the values are still there when training begins."""

import functools

import torch

from whyloss.sources import place
from whyloss.sources.shards import local, readable

KEPT = 8          # tensors of a checkpoint that are looked at again
ENTRIES = 256     # of each


class Checkpoints:
    """Part of a Watch: calls of load_state_dict and torch.load before the first backward()."""

    def __init__(self, watch):
        self.watch = watch
        self.loaded: list[tuple] = []    # (module, place, {name: first entries})
        self.files: list[tuple] = []     # (place, {name: (shape, first entries)})
        self.later: list[tuple] = []     # what was loaded since training began: (module, place, observation, {name: first entries})

    def install(self, replace, heard) -> None:
        def make_load(original):
            @functools.wraps(original)
            def load_state_dict(module, state_dict, *args, **kwargs):
                result = original(module, state_dict, *args, **kwargs)
                if heard():
                    with self.watch._guard():
                        self._module(module, state_dict, result, place.here(2))
                return result
            return load_state_dict

        def make_file(original):
            @functools.wraps(original)
            def load(*args, **kwargs):
                result = original(*args, **kwargs)
                if heard() and not self.watch.named:
                    with self.watch._guard():
                        self._file(result, place.here(2))
                return result
            return load

        replace(torch.nn.Module, "load_state_dict", make_load)
        replace(torch, "load", make_file)

    def _module(self, module, state, result, where) -> None:
        if not hasattr(result, "missing_keys"):
            return
        missing, unexpected = list(result.missing_keys), list(result.unexpected_keys)
        shapes = {name: tuple(p.shape) for name, p in [*module.named_parameters(), *module.named_buffers()]}
        given = {k: tuple(v.shape) for k, v in state.items() if isinstance(v, torch.Tensor)}
        renamed = [(u, m) for m in missing for u in unexpected
                   if (u.endswith(f".{m}") or m.endswith(f".{u}")) and given.get(u) == shapes.get(m)]
        row = {"module": type(module).__name__, "key": id(module), "given": len(state), "missing": len(missing), "unexpected": len(unexpected),
               "examples": [missing[:2], unexpected[:2]], "renamed": len({m for _, m in renamed}), "pair": list(renamed[0]) if renamed else None}
        kept = {name: state[name].detach().float().flatten()[:ENTRIES].cpu().clone()
                for name in self._telling(given) if name in shapes and given[name] == shapes[name]}
        if self.watch.named:  # once training has begun, states are moved about for many reasons: it counts if another training begins with them
            self.later = [*(known for known in self.later[1 - KEPT:] if known[0] is not module), (module, where, row, kept)]
        else:
            self._take(module, where, row, kept)

    def _take(self, module, where, row, kept) -> None:
        self.watch.observe("state_loaded", row, where or "?")
        self.loaded = [known for known in self.loaded if known[0] is not module]
        self.loaded.append((module, where, kept))

    def stage_begins(self, trained: dict) -> None:
        """Another training begins: what was loaded into models that were not trained before is what it begins from."""
        for module, where, row, kept in self.later:
            if not any(id(p) in trained for p in module.parameters()):
                self._take(module, where, row, kept)
        self.later = []

    def _file(self, content, where) -> None:
        state = _state_in(content)
        if state:
            given = {k: tuple(v.shape) for k, v in state.items()}
            self.files.append((where, {n: (given[n], state[n].detach().float().flatten()[:ENTRIES].cpu().clone()) for n in self._telling(given)}))

    @staticmethod
    def _telling(given: dict) -> list[str]:
        """The largest matrices: biases and statistics may well be equal by chance."""
        matrices = [name for name, shape in given.items() if len(shape) >= 2]
        return sorted(matrices, key=lambda n: -torch.Size(given[n]).numel())[:KEPT]

    def training_begins(self, tops: dict) -> None:
        """Before the first update: are the loaded values in the models?"""
        for module, where, kept in self.loaded:
            now = {n: local(p.detach()).float().flatten()[:ENTRIES].cpu() for n, p in module.named_parameters() if n in kept and readable(p)}
            same = [name for name, values in kept.items() if name in now and _alike(values, now[name])]
            if kept and now and not same:
                self.watch.observe("state_overwritten", {"module": type(module).__name__, "tensors": len(now), "example": next(iter(now))},
                                   where or "?")
        named = {(".".join(n.split(".")[-2:]), tuple(p.shape)) for top in tops.values() for n, p in top.named_parameters()}
        matrices = [p for top in tops.values() for p in top.parameters() if p.dim() >= 2 and readable(p)]
        values = [local(p.detach()).float().flatten()[:ENTRIES].cpu() for p in matrices]
        for where, kept in self.files:
            fits = [name for name, (shape, _) in kept.items() if (".".join(name.split(".")[-2:]), shape) in named]
            used = any(len(v) == len(e) and _alike(v, e) for _, e in kept.values() for v in values)
            if kept and len(fits) >= max(1, len(kept) / 2) and not used and not self.loaded:
                self.watch.observe("checkpoint_unused", {"tensors": len(kept), "example": fits[0]}, where or "?")
        self.loaded, self.files = [], []


def _state_in(content) -> dict | None:
    """The state dict in what torch.load returned: itself, or under a key."""
    if not isinstance(content, dict):
        return None
    tensors = {k: v for k, v in content.items() if isinstance(k, str) and isinstance(v, torch.Tensor) and v.is_floating_point()}
    if tensors:
        return tensors
    found = [_state_in(v) for v in content.values() if isinstance(v, dict)]
    return next((f for f in found if f), None)


def _alike(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Whether two tensors are the same values up to rounding, pruning or a change of scale."""
    if len(first) != len(second):
        return False
    if len(first) < 16:
        return bool(torch.allclose(first, second, rtol=0.05, atol=1e-6))
    scale = float(first.norm() * second.norm())
    return scale == 0 or float(first @ second) / scale > 0.3
