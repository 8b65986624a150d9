"""Which ranks hold what. Nothing here is a collective: all of it is known to each rank."""

import torch


def rank_and_world() -> tuple[int, int]:
    """This process's rank and how many there are; (0, 1) where training is not distributed."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return 0, 1


def holders(parameter) -> list[int]:
    """The ranks that hold parts of this sharded parameter, this one among them; ranks with a copy of the same parts are not."""
    mesh, placements = parameter.device_mesh, parameter.placements
    here, where = mesh.get_coordinate(), []
    for at, placement in enumerate(placements):
        where.append(slice(None) if placement.is_shard() else here[at])
    return sorted(mesh.mesh[tuple(where)].reshape(-1).tolist())
