"""Does the loss score padding, or leave out the end? The scored positions are those whose logits get a gradient, however the
loss was written."""

import torch

from whyloss.laboratory.experiments.overfit import first_tape
from whyloss.laboratory.experiments.sequence import Replay, read, survey
from whyloss.laboratory.lab import experiment
from whyloss.laboratory.padded import labels_scored

LEAST = 0.05   # of the scored positions
PADDED = 0.25  # of the rows
BATCHES = 4    # looked at for the end token


@experiment("padding-scored")
def padding_scored(lab, asks):
    """Share of the scored positions whose target is padding that the model itself knows as padding. Records `shown`."""
    if asks.get("end"):
        return _end_scored(lab)
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
    labels = labels_scored(lab) if share <= LEAST else None
    if labels is not None:
        return _of_labels(lab, labels)
    lab.clear("padding-scored")
    lab.evidence.add("shown", share > LEAST, run="padding-scored")
    change = f"{share:.0%} of the scored positions have the padding token {token} as their target" if token is not None else "no padding is scored"
    return {"experiment": "padding-scored", "change": change, "before": 0.0, "after": share, "steps": 1, "place": where}


def _of_labels(lab, found: dict) -> dict:
    """A target for each position, and the padded ones are scored: it counts where the real positions are learned clearly better without them."""
    lab.clear("padding-scored")
    lab.evidence.add("shown", found["shown"], run="padding-scored")
    said = f"{found['share']:.0%} of the scored targets stand at padding (known by {found['what']})"
    return {"experiment": "padding-scored", "change": f"loss on real positions, padding scored and not: {said}", "said": said,
            "before": found["before"], "after": found["after"], "steps": 1, "place": found["place"]}


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


# ---------------------------------------------------------------------- an end token that is masked with the padding
def _end_scored(lab):
    """Is the token that ends each row ever a target, where the same token pads the shorter rows? Records `shown`."""
    found = [_left_out(lab, tape) for tape in list(lab.program.whole_tapes().values())[:BATCHES]]
    tokens = {f["token"] for f in found if f is not None}
    shown = len(found) >= BATCHES and None not in found and len(tokens) == 1
    lab.clear("padding-scored")
    lab.evidence.add("shown", shown, run="padding-scored")
    seen, rows = (sum(f[k] for f in found) if shown else 0 for k in ("seen", "rows"))
    change = f"token {tokens.pop()} ends each of {rows} rows ({seen} times in the inputs) and is the target of none" if shown else \
        "the last token of the rows is a target, or pads nothing"
    return {"experiment": "padding-scored", "change": change, "said": change, "before": 0.0, "after": float(rows), "steps": len(found),
            "place": found[0]["place"] if shown else None}


def _left_out(lab, tape) -> dict | None:
    """Rows of one batch whose last real token is scored and whose end, the token that also pads, is not; None unless all are so.

    Padding alone leaves the longest row of a batch without any; where the end shares its token, the longest row has it once.
    """
    for reading in read(Replay(lab, tape, lab.program.fresh())):
        x, scored = reading.x, reading.scored
        if not reading.tokens or reading.shift != 1:
            continue
        token = int(x[:, -1].mode().values)
        run = (x == token).flip(1).cumprod(1).flip(1).sum(1)
        length = x.shape[1] - run
        cut = int(run.min()) == 0 and _ends_ignored(tape, reading, token, run)
        if not (int(run.min()) == 1 or cut) or int(length.min()) < 3 or float((run > run.min()).float().mean()) < PADDED:
            continue
        rows = torch.arange(len(x))
        end, last = length - 1, length - 2  # positions that are asked for the end, and for the last real token
        within = end < scored.shape[1]
        if bool(scored[rows[within], end[within]].any()) or float(scored[rows, last].float().mean()) < 0.9:
            continue
        return {"token": token, "seen": int((x == token).sum()), "rows": len(x), "place": reading.place}
    return None


def _ends_ignored(tape, reading, token: int, run) -> bool:
    """Where inputs and targets were cut apart before the step: the targets of the longest rows end in an ignored value."""
    for key, value in tape.constants.items():
        if key == reading.key or value.shape != tape.constants[reading.key].shape or value.is_floating_point():
            continue
        labels = value.permute(*reading.order)
        shifted = (labels[:, :-1] == reading.x[:, 1:]) | (labels[:, :-1] < 0)
        if bool(shifted.all()) and bool((labels[:, :-1] >= 0).any()):
            last = labels[run == 0][:, -1]
            return bool(((last < 0) | (last == token)).all())
    return False
