"""Which targets of a step stand at padding: the parts behind `padding-scored` that need no captured training."""

import torch

from whyloss.laboratory.padded import _filled, _fitted, _named
from whyloss.sources.tape import Node

ROWS = torch.tensor([[3, 4, 5, 6, 0, 0], [2, 3, 4, 5, 6, 7], [1, 2, 3, 0, 0, 0]])
PADDED = ROWS == 0
TAGS = torch.tensor([[1, 0, 2, 1, 0, 0], [0, 1, 2, 2, 1, 0], [2, 1, 0, 0, 0, 0]])


class Tape:
    def __init__(self, **constants):
        self.constants = dict(enumerate(constants.values()))


def node(name="cross_entropy", **kwargs):
    return Node(None, name, (), kwargs, [], None, True, ("cpu", torch.bfloat16, False))


def test_padding_is_known_by_lengths_or_by_a_mask_and_not_by_its_looks():
    assert "lengths" in _named(Tape(x=ROWS, lengths=torch.tensor([4, 6, 3])), 0, PADDED)
    assert "mask" in _named(Tape(x=ROWS, mask=(~PADDED).float()), 0, PADDED)
    assert "mask" in _named(Tape(x=ROWS, mask=PADDED.t()), 0, PADDED)
    assert _named(Tape(x=ROWS, tags=TAGS, other=torch.tensor([4, 6, 2])), 0, PADDED) is None


def test_fills_are_found_flat_and_in_the_shape_of_the_rows():
    assert _filled(TAGS, _fitted(PADDED, TAGS), node(), ROWS)
    assert _filled(TAGS.reshape(-1), _fitted(PADDED, TAGS.reshape(-1)), node(), ROWS)


def test_spares_fills_that_the_loss_ignores():
    ignored = TAGS.masked_fill(PADDED, -100)

    assert not _filled(ignored, PADDED, node(), ROWS)
    assert not _filled(TAGS.masked_fill(PADDED, -1), PADDED, node(ignore_index=-1), ROWS)


def test_spares_labels_that_differ_at_padding_and_an_input_that_is_its_own_target():
    assert not _filled(TAGS, PADDED.flip(0), node(), ROWS)
    assert not _filled(ROWS, PADDED, node(), ROWS)
