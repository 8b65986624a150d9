"""Fully sharded models: a rank's own part of each parameter stands for the parameter.

During forward and backward such a model uses gathered tensors whose memory is released in between; reading them then would
read freed memory, and arithmetic on the sharded ones as a whole would be a collective. So both are replaced by the local part.
"""

import torch


def local(tensor: torch.Tensor) -> torch.Tensor:
    """This rank's part of a sharded tensor; any other tensor as it is."""
    return getattr(tensor, "_local_tensor", tensor)


def is_sharded(module) -> bool:
    return any(kind.__name__ == "FSDPModule" for kind in type(module).__mro__)


class Shards:
    """Which gathered tensor belongs to which parameter of the fully sharded modules seen."""

    def __init__(self) -> None:
        self.groups: list = []                    # (name of the parameter, its record in torch)
        self.looked_at: set[int] = set()
        self.gathered: dict[int, torch.Tensor] = {}

    def look_at(self, root, names: dict[int, str]) -> None:
        """Once for every outermost module that is called: its sharded parts. names: id of a parameter -> its name, added to."""
        if id(root) in self.looked_at:
            return
        self.looked_at.add(id(root))
        inside = {id(part): name for name, part in root.named_modules()}
        for part in root.modules():
            if is_sharded(part):
                for record in _records(part):
                    info = record._module_info
                    full = f"{inside.get(id(info.module), '')}.{info.param_name}".lstrip(".")
                    names.setdefault(id(record.sharded_param), full)
                    self.groups.append(record)

    def parameter(self, tensor: torch.Tensor) -> torch.Tensor:
        """The parameter that a gathered tensor belongs to; any other tensor as it is."""
        if not self.groups:
            return tensor
        known = self.gathered.get(id(tensor))
        if known is None:
            for record in self.groups:
                if getattr(record, "_unsharded_param", None) is tensor:
                    known = self.gathered[id(tensor)] = record.sharded_param
                    break
        return tensor if known is None else known


def _records(module) -> list:
    try:
        groups = module._get_fsdp_state()._fsdp_param_groups
    except AttributeError:
        group = getattr(module._get_fsdp_state(), "_fsdp_param_group", None)
        groups = [group] if group is not None else []
    return [record for group in groups for record in group.fsdp_params]


def readable(tensor: torch.Tensor) -> bool:
    """Whether a tensor's memory is there: that of a gathered or flattened parameter may have been released, a meta one has none yet."""
    if tensor.is_meta:
        return False
    try:
        return tensor.numel() == 0 or local(tensor).untyped_storage().nbytes() > 0
    except (RuntimeError, NotImplementedError):  # no storage of its own: sparse, functional
        return True
