"""Label maps of the captured steps: which ids have an inside, and which lie only on the border between two others?"""

import torch

LEAST = 8     # pixels a side
MOST = 256    # ids
INSIDE = 0.1  # share of an id's pixels whose four neighbours are all the same, from which it is a region


def label_maps(tape) -> list[tuple[int, torch.Tensor]]:
    """(key, (samples, height, width)) of each whole-number constant that a function outside the models gets."""
    given = {ref for node in tape.nodes if node.module is not None for ref in node.inputs if isinstance(ref, int)}
    used = {ref for node in tape.nodes if node.module is None for ref in node.inputs if isinstance(ref, int)}
    found = []
    for key in sorted(used - given):
        value = tape.constants[key]
        if value.is_floating_point() or value.is_complex() or value.dtype == torch.bool or value.dim() not in (3, 4) or min(value.shape[-2:]) < LEAST:
            continue
        flat = value.reshape(-1, *value.shape[-2:])
        if len(flat) <= 4 * value.shape[0]:
            found.append((key, flat))
    return found


def borders(maps: torch.Tensor) -> dict[int, tuple[int, int, int]]:
    """Pixels of each id away from the frame: (all, those whose four neighbours are the same, those strictly between two opposite neighbours)."""
    def shifted(down: int, right: int) -> torch.Tensor:
        return maps[:, 1 + down:maps.shape[1] - 1 + down, 1 + right:maps.shape[2] - 1 + right]

    centre = maps[:, 1:-1, 1:-1]
    inside, between = torch.ones_like(centre, dtype=torch.bool), torch.zeros_like(centre, dtype=torch.bool)
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        one, other = shifted(down, right), shifted(-down, -right)
        between |= (torch.minimum(one, other) < centre) & (centre < torch.maximum(one, other))
        if 0 in (down, right):
            inside &= (one == centre) & (other == centre)
    return {int(i): (int((centre == i).sum()), int(inside[centre == i].sum()), int(between[centre == i].sum())) for i in centre.unique() if i >= 0}


def copies_the_input(tape, maps: torch.Tensor) -> bool:
    """Whether the ids are the grey values of an input themselves: a model of pixels, not of regions."""
    for value in tape.constants.values():
        if value.dim() != 4 or value.shape[0] * maps.shape[0] == 0 or value.shape[-2:] != maps.shape[-2:] or value.shape[0] != maps.shape[0]:
            continue
        for channel in value.float().unbind(1):
            pair = torch.stack([channel.flatten(), maps.float().flatten()])
            if float(torch.corrcoef(pair)[0, 1].abs().nan_to_num()) > 0.98:
                return True
    return False


def at_the_end(watch) -> None:
    """Observe the ids of label maps over all captured steps of the main loss."""
    main = watch.evidence.fact("main_loss_place")
    total: dict[int, list[int]] = {}
    steps = 0
    for tape in watch.program.whole_tapes().values():
        if main is not None and tape.place != main:
            continue
        for _, maps in label_maps(tape)[:1]:
            if len(maps.unique()) > MOST or copies_the_input(tape, maps):
                return
            steps += 1
            for label, counts in borders(maps).items():
                total[label] = [a + b for a, b in zip(total.get(label, [0, 0, 0]), counts)]
    if not steps:
        return
    regions = [i for i, (n, inside, _) in total.items() if inside > INSIDE * n]
    edges = [i for i, (n, inside, between) in total.items() if inside <= 0.01 * n and between >= 0.9 * n]
    watch.observe("label_borders", {"ids": sorted(total), "regions": sorted(regions), "edges": sorted(edges), "steps": steps,
                                    "edge_pixels": sum(total[i][0] for i in edges), "pixels": sum(n for n, _, _ in total.values())},
                  main or "backward", 0)
