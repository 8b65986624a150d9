"""Does the loss score padding? The scored positions are those whose logits get a gradient, however the loss was written."""

import torch

from whyloss.laboratory.experiments.overfit import first_tape
from whyloss.laboratory.experiments.sequence import survey
from whyloss.laboratory.lab import experiment

LEAST = 0.05   # of the scored positions
PADDED = 0.25  # of the rows


@experiment("padding-scored")
def padding_scored(lab, asks):
    """Share of the scored positions whose target is padding that the model itself knows as padding. Records `shown`."""
    _, tape = first_tape(lab)
    share, token, where = 0.0, None, None
    for row in survey(lab):
        reading = row["reading"]
        if not reading.tokens or reading.shift != 1:
            continue
        for candidate in _known(lab, tape, reading):
            run = trailing(reading.target, candidate)
            rows = run.any(1)
            if float(rows.float().mean()) < PADDED or len(run.sum(1).unique()) < 2:
                continue
            here = float((run & reading.scored).sum()) / max(1, int(reading.scored.sum()))
            if here > share:
                share, token, where = here, candidate, reading.place
    lab.clear("padding-scored")
    lab.evidence.add("shown", share > LEAST, run="padding-scored")
    change = f"{share:.0%} of the scored positions have the padding token {token} as their target" if token is not None else "no padding is scored"
    return {"experiment": "padding-scored", "change": change, "before": 0.0, "after": share, "steps": 1, "place": where}


def trailing(tokens, value: int) -> torch.Tensor:
    """Where a row has gone over to `value` for good; its first one may be an end token and does not count. -> bool"""
    run = (tokens == value).flip(1).cumprod(1).flip(1).bool()
    return run & run.roll(1, 1).index_fill(1, torch.tensor([0]), False)


def _known(lab, tape, reading) -> set[int]:
    """Tokens that an embedding names as padding_idx, or that a mask among the batch's tensors marks in exactly their places."""
    found = set()
    for module in lab.program.modules.values():
        for part in module.modules():
            index = getattr(part, "padding_idx", None)
            if index is not None and part.num_embeddings > int(reading.x.max()):
                found.add(int(index))
    last = reading.x[:, -1].mode().values
    there = reading.x == last
    for key, value in tape.constants.items():
        if value.shape == tape.constants[reading.key].shape and key != reading.key and bool(there.any()) and not bool(there.all()):
            mask = value.permute(*reading.order)
            kinds = mask.unique()
            if len(kinds) == 2 and any(torch.equal(mask == kind, there) for kind in kinds):
                found.add(int(last))
    return found
