"""Which ranks hold what. Nothing here is a collective: all of it is known to each rank."""

import torch


def rank_and_world() -> tuple[int, int]:
    """This process's rank and how many there are; (0, 1) where training is not distributed."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return 0, 1


def holders(parameter) -> list[int]:
    """The ranks that hold parts of this sharded parameter. Not those with a copy of the same parts, nor any whose part is empty: of five
    rows over four ranks the last one has none."""
    mesh, sizes = parameter.device_mesh, list(parameter.shape)
    here, ranks = mesh.get_coordinate(), mesh.mesh
    for at in reversed(range(len(parameter.placements))):
        if not parameter.placements[at].is_shard():
            ranks = ranks.select(at, here[at])
    for at, placement in enumerate(p for p in parameter.placements if p.is_shard()):
        parts = ranks.shape[at]
        each = -(-sizes[placement.dim] // parts)  # as torch.chunk divides
        ranks = ranks.index_select(at, torch.tensor([part for part in range(parts) if part * each < sizes[placement.dim]], dtype=torch.long))
        sizes[placement.dim] = each
    return sorted(ranks.reshape(-1).tolist())
