"""Settings that were given and the ones the optimizer uses: attributes that nothing reads, overwritten rates, an old optimizer's schedule."""

import argparse
import dis

import torch

from whyloss.sources import facts, written

ALIASES = {"learning_rate", "LR", "Lr", "learningrate", "learningRate"}
MISSPELT = {"require_grad", "required_grad", "requires_gradient", "requiresgrad", "requires_grads", "require_grads", "requires_grad_"}


class Settings:
    """Part of a Watch."""

    def __init__(self, watch):
        self.watch = watch
        self.made: dict[int, dict] = {}      # id -> the defaults when the optimizer was made
        self.first: dict[int, list] = {}     # id -> the groups' rates when it was made
        self.loaded: dict[int, dict] = {}    # id -> rates before and after load_state_dict
        self.seen: dict[int, tuple] = {}     # id -> rates when another optimizer last stepped
        self.idle: dict[int, dict] = {}      # id -> changes of its rates while another one steps on its parameters
        self.scheduled_at: dict[int, str | None] = {}
        self.options: dict[str, float] = {}

    # ------------------------------------------------------------------ heard
    def optimizer_made(self, optimizer) -> None:
        self.made[id(optimizer)] = {k: v for k, v in optimizer.defaults.items() if isinstance(v, (int, float))}
        self.first[id(optimizer)] = rates(optimizer)

    def loads(self, optimizer, before, where) -> None:
        self.loaded[id(optimizer)] = {"before": before, "after": rates(optimizer), "place": where}

    def parsed(self, namespace) -> None:
        for name, value in vars(namespace).items():
            if isinstance(value, (int, float)) and not isinstance(value, bool) and written.RATE.match(name):
                self.options[name] = float(value)

    def scheduled(self, optimizer, where) -> None:
        if self.watch.step_count:  # a scheduler steps once when it is made
            self.scheduled_at[id(optimizer)] = where

    def steps(self, optimizer) -> None:
        """Before a step: did the rate of another optimizer over the same parameters change since the last step?"""
        self.idle.pop(id(optimizer), None)
        if len(self.watch.optimizers) < 2:
            return
        held = {id(p) for group in optimizer.param_groups for p in group["params"]}
        for key, other in self.watch.optimizers.items():
            if other is optimizer:
                self.seen[key] = tuple(rates(other))
                continue
            now, before = tuple(rates(other)), self.seen.get(key)
            self.seen[key] = now
            if before is not None and now != before and any(id(p) in held for group in other.param_groups for p in group["params"]):
                row = self.idle.setdefault(key, {"changes": 0, "after": 0, "used": optimizer, "rate": now})
                row["changes"] += 1
                row["rate"] = now
            if key in self.idle:
                self.idle[key]["after"] += 1

    # ------------------------------------------------------------------ at the end
    def over(self) -> None:
        sources = written.trees()
        for optimizer in list(self.watch.optimizers.values()):
            if type(optimizer).__module__.startswith("torch.optim"):
                self._attributes(optimizer, sources)
                self._defaults(optimizer, sources)
                self._group_keys(optimizer, sources)
            self._overwritten(optimizer)
        self._modules(sources)
        for key, row in self.idle.items():
            optimizer = self.watch.optimizers[key]
            self._note("old-optimizer", facts.optimizer_name(self.watch, optimizer), row["rate"][0], rates(row["used"])[0],
                       self.scheduled_at.get(key) or written.key_writes("lr", sources) or self.watch.optimizer_places.get(key),
                       changes=row["changes"], after=row["after"])
        self._rates(sources)
        if not self.scheduled_at and any(len(set(series.values)) > 1 for series in self.watch.evidence.by_subject("learning_rate").values()):
            where = written.key_writes("lr", sources, dicts=False)
            if where:
                self.watch.observe("rate_written", where)

    def _note(self, kind, subject, given, used, where, **more) -> None:
        self.watch.observe("unapplied_setting", {"kind": kind, "subject": subject, "given": given, "used": used, **more}, where or "?")

    def _attributes(self, optimizer, sources) -> None:
        for name, value in vars(optimizer).items():
            if name not in optimizer.defaults and name not in ALIASES or not isinstance(value, (int, float)):
                continue
            used = optimizer.param_groups[0].get("lr" if name in ALIASES else name)
            if isinstance(used, (int, float)) and used != value:
                self._note("attribute", f"{type(optimizer).__name__}.{name}", value, used, written.attribute_writes(name, sources))

    def _defaults(self, optimizer, sources) -> None:
        for name, value in self.made.get(id(optimizer), {}).items():
            now = optimizer.defaults.get(name)
            used = optimizer.param_groups[0].get(name)
            if now != value and isinstance(now, (int, float)) and isinstance(used, (int, float)) and all(
                    group.get(name) != now for group in optimizer.param_groups):
                self._note("defaults", f"{type(optimizer).__name__}.defaults[{name!r}]", now, used, written.key_writes(name, sources))

    def _group_keys(self, optimizer, sources) -> None:
        for at, group in enumerate(optimizer.param_groups):
            for name in ALIASES & group.keys():
                if isinstance(group[name], (int, float)) and group[name] != group["lr"]:
                    self._note("group-key", f"{facts.group_name(self.watch, optimizer, at)}[{name!r}]", group[name], float(group["lr"]),
                               written.key_writes(name, sources))

    def _overwritten(self, optimizer) -> None:
        """The rate the optimizer was made with was used in no step, and no schedule of torch explains it."""
        name = facts.group_name(self.watch, optimizer, 0)
        used, first = self.watch.evidence.series("learning_rate", name).values, self.first.get(id(optimizer))
        if len(used) < 5 or not first or not first[0]:
            return
        where = self.watch.optimizer_places.get(id(optimizer))
        loaded = self.loaded.get(id(optimizer))
        if "initial_lr" in optimizer.param_groups[0] and loaded is None:
            falls = used[0] <= 0.1 * first[0] and max(used) <= used[0] and id(optimizer) in self.scheduled_at
            if falls:
                self._note("schedule", name, first[0], used[0], self.scheduled_at[id(optimizer)], rate=first[0])
        elif loaded is not None and loaded["after"] and loaded["after"][0] != loaded["before"][0] and used[0] == loaded["after"][0]:
            self._note("loaded", name, loaded["before"][0], used[0], loaded["place"], rate=loaded["before"][0])
        elif loaded is None and not any(abs(u / first[0] - 1) < 0.05 for u in used) and max(used) < first[0] and max(used) <= 1.01 * used[0]:
            self._note("overwritten", name, first[0], used[0], where, rate=first[0])

    def _modules(self, sources) -> None:
        for top in getattr(self.watch, "live_tops", {}).values():
            for name, part in top.named_modules():
                own = vars(part)
                if own.get("requires_grad") is False and any(p.requires_grad for p in part.parameters()) and not reads(type(part), "requires_grad"):
                    self._note("module-attribute", f"{name or type(part).__name__}.requires_grad", False, True,
                               written.attribute_writes("requires_grad", sources))
                for method in ("train", "eval"):
                    if method in own and not callable(own[method]):
                        self._note("module-attribute", f"{name or type(part).__name__}.{method}", own[method], bool(part.training),
                                   written.attribute_writes(method, sources))
        for parameter in list(self.watch.gradients.parameters.values()):
            for name in MISSPELT & getattr(parameter, "__dict__", {}).keys():
                if parameter.requires_grad and not parameter.__dict__[name]:
                    self._note("parameter-attribute", f"{self.watch.name(parameter)}.{name}", False, True, written.attribute_writes(name, sources))

    def _rates(self, sources) -> None:
        """Rates given under a name that is never read, or parsed from the command line and in no optimizer."""
        used = [rate for series in self.watch.evidence.by_subject("learning_rate").values() for rate in series.values]
        used += [rate for first in self.first.values() for rate in first]
        used += [float(g[k]) for o in self.watch.optimizers.values() for g in o.param_groups for k in ("initial_lr", "max_lr", "min_lr") if k in g]
        if not used or not self.first:
            return
        if self.watch.evidence.by_subject("unapplied_setting"):
            return  # it is known why
        unread = written.unread_rates(sources, self.options)
        for row in unread:
            if row["value"] > 0 and not any(2 / 3 < u / row["value"] < 1.5 for u in used if u > 0) and row["value"] not in used:
                self._note("unread", row["name"], row["value"], used[0], row["place"], rate=row["value"])


def rates(optimizer) -> list[float]:
    return [float(group["lr"]) for group in optimizer.param_groups if isinstance(group.get("lr"), (int, float, torch.Tensor))]


def reads(kind: type, name: str) -> bool:
    """Whether the methods of a user's class read self.name."""
    for owner in kind.__mro__:
        if owner.__module__.startswith("torch."):
            continue
        for function in vars(owner).values():
            code = getattr(function, "__code__", None)
            if code is None:
                continue
            before = None
            for step in dis.get_instructions(code):
                if step.opname == "LOAD_ATTR" and step.argval == name and before is not None and before.argval == "self":
                    return True
                before = step
    return False


def patch(watch, replace, heard) -> None:
    """Hear of load_state_dict and of parsed command lines."""
    import functools

    from whyloss.sources import place

    def make_load(original):
        @functools.wraps(original)
        def load_state_dict(self, state_dict):
            before = rates(self)
            result = original(self, state_dict)
            if heard():
                with watch._guard():
                    watch.settings.loads(self, before, place.here(2))
            return result
        return load_state_dict

    replace(torch.optim.Optimizer, "load_state_dict", make_load)

    def make_parse(original):
        @functools.wraps(original)
        def parse_known_args(self, *args, **kwargs):
            result = original(self, *args, **kwargs)
            if heard():
                with watch._guard():
                    watch.settings.parsed(result[0])
            return result
        return parse_known_args

    replace(argparse.ArgumentParser, "parse_known_args", make_parse)
