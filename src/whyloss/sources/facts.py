"""What a watch writes down: facts of a traced step, names, and what is known only at the end."""

import torch

from whyloss.sources import masks, meters, names, sequences
from whyloss.sources.shards import local as own_part
from whyloss.sources.structure import tensors_in  # noqa: F401

ASKED = 0.5     # of the steps: a model that is called without gradients in so many is at work in the loop
RECENT = 8  # backward passes after which a model that is not used any more counts as replaced


def name_everything(watch, reached) -> None:
    """Names of modules, parameters and optimizers at the first backward."""
    program = watch.program
    tops = {id(m): m for m in names.owners()}
    roots = [program.originals[key] for key in program.modules]
    inside = {id(part) for top in tops.values() for part in top.modules()}
    for root in roots:
        if id(root) not in inside and next(root.parameters(), None) is not None:
            tops[id(root)] = root
    used = {id(p) for p in reached} | {id(p) for o in watch.optimizers.values() for g in o.param_groups for p in g["params"]}
    # a root not called for a while has been replaced: its module is old, whoever still holds its tensors
    recent = [root for root in roots if watch.root_last.get(id(root), 0) >= watch.window_count - RECENT]
    old = {id(part) for root in roots if root not in recent for part in root.modules()}
    called = ({id(part) for root in recent for part in root.modules()} | set(watch.layers.called) - old)
    tops = {key: top for key, top in tops.items()
            if any(id(part) in called for part in top.modules()) or any(id(p) in used for p in top.parameters())}
    live = {key: top for key, top in tops.items() if any(id(part) in called for part in top.modules())} or tops
    variables = names.variable_names({**tops, **{id(p): p for p in reached}})
    fresh: dict[int, str] = {}
    loose = names_of_unregistered(watch, live)
    several = len([k for k in live if k not in loose]) > 1
    for key, top in sorted(tops.items(), key=lambda item: item[0] not in live):
        prefix = loose.get(key)
        if prefix is None:
            label = variables.get(key) or type(top).__name__.lower()
            prefix = label if several or key not in live else ""
            if key not in live and prefix in ("", "model"):
                prefix = f"{prefix or 'model'}(old)"
        for name, part in top.named_modules():
            full = f"{prefix}.{name}" if prefix and name else prefix or name
            watch.root_names.setdefault(key, {})[id(part)] = full
            for local, parameter in part._parameters.items():
                if parameter is not None:
                    fresh.setdefault(id(parameter), f"{full}.{local}" if full else local)
    program.names.update(fresh)
    watch.tops, watch.live_tops = tops, live
    for root in roots:  # inner calls are named from the root that runs them
        known = {id(m): n for table in watch.root_names.values() for m, n in ()}
        table = {}
        for top in tops.values():
            for part_id, name in watch.root_names.get(id(top), {}).items():
                table[part_id] = name
        watch.root_names[id(root)] = {**{id(m): n for n, m in root.named_modules()}, **table, **known}
    for at, leaf in enumerate(reached):
        if id(leaf) not in program.names:
            program.names[id(leaf)] = variables.get(id(leaf), f"tensor{at}{tuple(leaf.shape)}")


def names_of_unregistered(watch, live) -> dict[int, str]:
    """id -> "layers[0]" for live top modules that hide in a plain list or dict of another live module."""
    found: dict[int, str] = {}
    for key, top in live.items():
        found.update({k: v for k, v in names.unregistered(top, set(live) - {key}).items() if k in live})
    watch.unregistered = found
    return found


def name_late(watch, parameter: torch.Tensor) -> str:
    """A name for a tensor that first shows up after the first backward."""
    found = watch.late_names.find(parameter) if isinstance(parameter, torch.nn.Parameter) else None
    if found is not None:
        return found
    found = names.variable_names({id(parameter): parameter})
    return found.get(id(parameter), f"tensor{len(watch.program.names)}{tuple(parameter.shape)}")


def optimizer_name(watch, optimizer) -> str:
    """"Adam" or, when several of a class exist, "Adam#2"."""
    same = [key for key, other in watch.optimizers.items() if type(other) is type(optimizer)]
    at = same.index(id(optimizer)) if id(optimizer) in same else len(same)
    return type(optimizer).__name__ + (f"#{at + 1}" if at else "")


def group_name(watch, optimizer, group: int) -> str:
    name = optimizer_name(watch, optimizer)
    return f"{name}.group{group}"


# ---------------------------------------------------------------------- at the end
def at_the_end(watch) -> None:
    evidence = watch.evidence
    _main_loss(watch)
    sequences.at_the_end(watch)
    masks.at_the_end(watch)
    watch.scoring.over()
    watch.settings.over()
    calls: dict[str, dict] = {}
    for (kind, where), count in watch.counts.items():
        calls.setdefault(kind, {})[where or "?"] = count
    for kind, places in calls.items():
        watch.observe("calls", places, kind)
    if watch.gradients.readers:
        watch.observe("calls", dict(watch.gradients.readers), "read_grad")
    if watch.gradients.writers:
        watch.observe("calls", dict(watch.gradients.writers), "write_parameter")
    watch.observe("totals", {"backward": watch.window_count, "optimizer_steps": watch.step_count, "iterations": watch.clock,
                             "optimizers": len(watch.optimizers), "evaluations": watch.evaluation.phases})
    for optimizer in watch.optimizers.values():
        watch.observe("optimizer", _optimizer_fact(watch, optimizer), optimizer_name(watch, optimizer))
    _parameters(watch)
    for name in watch.layers.order:
        watch.observe("layer", {"kind": watch.layers.kinds[name], "in": watch.layers.shapes[name][0],
                                "out": watch.layers.shapes[name][1],
                                "batch_first": getattr(watch.layers.seen_modules.get(name), "batch_first", None)}, name)
    for name, where in watch.layers.places.items():
        watch.observe("activation_place", where, name)
    _unused_modules(watch)
    watch.normalisation.at_the_end()
    if watch.first_non_finite is not None:
        watch.observe("first_non_finite", watch.first_non_finite, step=watch.first_non_finite.get("step", 0))
    watch.ranks.at_the_end()
    if watch.errors:
        watch.observe("watch_errors", list(watch.errors))
    evidence.runs["main"].settings.update({"torch": torch.__version__})


def _main_loss(watch) -> None:
    """The place whose backward is called most often gives the run's loss curve."""
    if not watch.window_count and not watch.step_count:
        _without_backward(watch)
    by_place = watch.evidence.by_subject("loss")
    if not by_place:
        return
    subject, series = max(by_place.items(), key=lambda item: len(item[1]))
    for step, value in zip(list(series.steps), list(series.values)):
        watch.observe("loss", value, "run", step)
    watch.observe("main_loss_place", subject)


def _without_backward(watch) -> None:
    """A loop whose gradients all come from autograd.grad: its losses and its tensors are those of the training."""
    for where, column in watch.evidence.by_subject("functional_grad").items():
        if len(column) >= 5:
            for step, row in zip(list(column.steps), list(column.values)):
                watch.observe("loss", row["loss"], where, step)
    for key, leaf in watch.gradients.functional_leaves.items():
        watch.gradients.parameters.setdefault(key, leaf)
        watch.ever_reached.add(key)


def _optimizer_fact(watch, optimizer) -> dict:
    held = [p for group in optimizer.param_groups for p in group["params"]]
    live = {id(watch.shards.parameter(p)) for top in getattr(watch, "live_tops", {}).values() for p in top.parameters()}
    last = watch.gradients.last_reached
    reached = {key for key, window in last.items() if window >= watch.window_count - 1 - RECENT}
    foreign = [p for p in held if id(p) not in live and id(p) not in reached]
    # in many steps, as a policy is that acts: a replaced model that is still evaluated after each epoch is not
    asked = {id(p) for window, count, known in watch.root_free.values()
             if window >= watch.window_count - RECENT and count >= ASKED * watch.window_count and (root := known()) is not None
             for p in root.parameters()}
    groups = [{k: v for k, v in g.items() if k != "params" and isinstance(v, (int, float, bool, str, tuple, type(None)))}
              for g in optimizer.param_groups]
    first = watch.program.optimizers.get(id(optimizer))
    initial = [{k: v for k, v in g.items() if k != "params" and isinstance(v, (int, float, bool, str))}
               for g in first.param_groups] if first is not None else groups
    return {"class": type(optimizer).__name__, "place": watch.optimizer_places.get(id(optimizer)), "held": len(held),
            "foreign": len(foreign), "foreign_asked": sum(id(p) in asked for p in foreign),
            "foreign_names": [watch.name(p) for p in foreign[:8]], "groups": groups, "initial_groups": initial,
            "frozen_held": sum(not p.requires_grad for p in held),
            "stepped": any(e.kind == "step" and e.key == id(optimizer) for e in watch.program.events)}


def _parameters(watch) -> None:
    held = {id(p) for o in watch.optimizers.values() for g in o.param_groups for p in g["params"]}
    live = {id(p): p for top in getattr(watch, "live_tops", {}).values() for p in map(watch.shards.parameter, top.parameters())}
    # a framework that looks at a model's shapes first leaves parameters behind that never had values
    everything = {key: p for key, p in {**live, **watch.gradients.parameters}.items() if not p.is_meta}
    module_kind = {}
    for top in getattr(watch, "live_tops", {}).values():
        for part in top.modules():
            for p in part._parameters.values():
                if p is not None:
                    module_kind[id(p)] = type(part).__name__
    hidden = {id(p) for key in getattr(watch, "unregistered", {}) for p in watch.tops[key].parameters()}
    for key, parameter in everything.items():
        name = watch.name(parameter)
        start = watch.program.leaves.get(key)
        row = {"requires_grad": bool(parameter.requires_grad), "held": key in held, "in_model": key in live,
               "reached": key in watch.ever_reached, "moved": key in watch.gradients.moved,
               "kind": module_kind.get(key, "tensor"), "shape": list(parameter.shape), "dtype": str(parameter.dtype).replace("torch.", ""),
               "unregistered": key in hidden, "frozen_at": watch.switched.off(parameter)}
        if start is not None and start.shape == parameter.shape:
            now, start = own_part(parameter.detach()), own_part(start.detach())
            row["changed"] = not torch.equal(now, start.to(now.dtype)) if bool(torch.isfinite(now).all()) else True
            row["initial"] = initial_state(start)
            row["final_norm"] = meters.norm(now)
            if now.dim() >= 2 and now.is_floating_point():
                row["final_row_spread"] = row_spread(now.float())
        watch.observe("parameter", row, name)


def initial_state(weight: torch.Tensor) -> dict:
    """What a tensor looked like before the first step: all zero, its std, how much its rows differ."""
    if weight.is_complex():
        weight = torch.view_as_real(weight.resolve_conj())
    values = weight.float() if weight.is_floating_point() else weight.double()
    state = {"zero": not bool(values.any()), "std": float(values.std()) if values.numel() > 1 else 0.0,
             "mean": float(values.mean()) if values.numel() else 0.0, "norm": meters.norm(values)}
    if values.dim() >= 2:
        state["row_spread"] = row_spread(values)
        state["fan_in"] = values[0].numel()
    return state


def row_spread(weight: torch.Tensor) -> float:
    """|W - mean row| / |W|: 0 when every unit is the same."""
    flat = weight.reshape(weight.shape[0], -1)
    size = float(flat.norm())
    return float((flat - flat.mean(0)).norm()) / size if size > 0 else 0.0


def _unused_modules(watch) -> None:
    """Submodules with parameters that were never called, though their top module was."""
    called = set(watch.layers.seen_modules.values())
    if not called:
        return
    for top in getattr(watch, "live_tops", {}).values():
        for name, part in top.named_modules():
            if name and next(part.parameters(), None) is not None and not any(m in called for m in part.modules()):
                reached = any(id(p) in watch.ever_reached for p in part.parameters())
                if not reached:
                    watch.observe("module_never_called", type(part).__name__, watch.root_names.get(id(top), {}).get(id(part), name))
