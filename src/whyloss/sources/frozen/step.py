"""A captured program <-> plain parts that can be written: the copies, the tapes, the loop's calls, and where training had come to."""

import copy

import torch

from whyloss.sources.program import Event, Program
from whyloss.sources.tape import Tape

KEPT = ("modules", "leaves", "optimizers", "tapes", "events", "problem", "failing", "holdout", "first_step")


def parts_of(program: Program) -> dict:
    """Everything an experiment needs. The originals are kept as the values they have now, not as objects."""
    parts = {name: getattr(program, name) for name in KEPT}
    parts["names"] = {key: name for key, name in program.names.items() if key in program.leaves}
    parts["parameters"] = {key for key in program.leaves if isinstance(program.originals.get(key), torch.nn.Parameter)}
    parts["module_ends"] = {key: _state(program.originals[key]) for key in program.modules}
    parts["leaf_ends"] = {key: program.originals[key].detach() for key in program.leaves if isinstance(program.originals.get(key), torch.Tensor)}
    return parts


def _state(module) -> dict[str, torch.Tensor]:
    return {name: value.detach() for name, value in module.state_dict().items() if isinstance(value, torch.Tensor)}


def program_of(parts: dict) -> Program:
    """The program again, ready for a laboratory; what ran on another device runs on this CPU."""
    program = Program()
    for name in KEPT:
        setattr(program, name, parts[name])
    program.names = parts["names"]
    modules, leaves = copy.deepcopy((program.modules, program.leaves), {})
    with torch.no_grad():
        for key, module in modules.items():
            module.load_state_dict(parts["module_ends"][key], strict=False)
        for key, leaf in leaves.items():
            end = parts["leaf_ends"].get(key)
            if end is not None and end.shape == leaf.shape:
                leaf.copy_(end)
            if key in parts["parameters"] and not isinstance(leaf, torch.nn.Parameter):
                leaves[key] = torch.nn.Parameter(leaf.detach(), requires_grad=leaf.requires_grad)
    program.originals = {**modules, **leaves}
    for tape in _tapes(program):
        for node in tape.nodes:
            if node.autocast[0] != "cpu":
                node.autocast = ("cpu", *node.autocast[1:])
    return program


def _tapes(program: Program):
    yield from program.tapes.values()
    yield from (event.data["tape"] for event in program.events if isinstance(event, Event) and isinstance(event.data.get("tape"), Tape))
    if program.failing is not None:
        yield program.failing[0]


def devices(program: Program) -> list[str]:
    """Kinds of devices the tensors of a program lie on."""
    return sorted({leaf.device.type for leaf in program.leaves.values()})
