"""The two inner axes of a layer's input exchanged, on a copy."""

import torch

from whyloss.errors import CannotReplay
from whyloss.laboratory.experiments.loop import same_kind
from whyloss.laboratory.lab import experiment
from whyloss.laboratory.sandbox import Plan


@experiment("swap-axes")
def swap_axes(lab, asks):
    """The last two axes of the input of one Conv1d or recurrent layer exchanged; the layer is built anew where the sizes differ."""
    if not asks.get("module"):
        return None  # the axis was lost in a reshape: there is no layer to give the other order to
    arm = lab.program.fresh()
    found = [(owner, part) for owner in arm.modules.values() for name, part in owner.named_modules()
             if name and (asks["module"] == name or asks["module"].endswith(f".{name}"))]
    if not found:
        raise CannotReplay(f"there is no layer {asks['module']} in the copy")
    owner, layer = found[0]
    sizes = _sizes(lab, owner, layer)
    fresh = sizes is not None and sizes[0] != sizes[1]
    if fresh:
        _rebuild(layer, sizes[1])
        arm.leaves.clear()
        arm.leaves.update({id(p): p for module in arm.modules.values() for p in module.parameters()})
    layer.register_forward_pre_hook(lambda _module, args: (args[0].transpose(1, 2), *args[1:]))
    plan = Plan(loop="canonical", make_optimizer=same_kind) if fresh else Plan()
    changed = lab.train("swap-axes", plan, arm=arm)
    return lab.paired("swap-axes", f"the last two axes of {asks['module']}'s input exchanged", lab.control(), changed)


def _sizes(lab, owner, layer) -> tuple[int, int] | None:
    """(features the layer reads now, features it would read with the axes exchanged)."""
    seen = []
    hook = layer.register_forward_pre_hook(lambda _module, args: seen.append(tuple(args[0].shape)))
    arm = lab.program.fresh()
    twin = next(m for key, m in arm.modules.items() if type(m) is type(owner))
    name = next(n for n, part in owner.named_modules() if part is layer)
    hook.remove()
    hook = twin.get_submodule(name).register_forward_pre_hook(lambda _module, args: seen.append(tuple(args[0].shape)))
    try:
        tape = next(iter(lab.program.whole_tapes().values()))
        with torch.no_grad():
            tape.replay(arm.bindings)
    finally:
        hook.remove()
    if not seen or len(seen[0]) != 3:
        raise CannotReplay(f"{name} does not read three axes")
    recurrent = isinstance(layer, torch.nn.RNNBase)
    if recurrent and not layer.batch_first:
        raise CannotReplay(f"{name} reads time first")
    return (seen[0][2], seen[0][1]) if recurrent else (seen[0][1], seen[0][2])


def _rebuild(layer, features: int) -> None:
    """Fresh weights for another number of features, in place: hooks and names of the layer stay."""
    if isinstance(layer, torch.nn.RNNBase):
        other = type(layer)(features, layer.hidden_size, layer.num_layers, bias=layer.bias, batch_first=True, dropout=layer.dropout,
                            bidirectional=layer.bidirectional)
    elif isinstance(layer, torch.nn.Conv1d) and layer.groups == 1:
        other = torch.nn.Conv1d(features, layer.out_channels, layer.kernel_size, layer.stride, layer.padding, layer.dilation,
                                bias=layer.bias is not None, padding_mode=layer.padding_mode)
    else:
        raise CannotReplay("the layer cannot be built for other sizes")
    layer.__dict__.update({k: v for k, v in other.__dict__.items() if not k.endswith("_hooks") and k != "training"})
