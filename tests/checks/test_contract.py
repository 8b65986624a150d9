"""What every check promises, and that the folder scan finds each of them."""

import pytest

from whyloss.checks import ALL
from whyloss.testing import check_contract


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_check_keeps_the_contract(kind):
    check_contract(kind)


def test_no_two_checks_share_an_id():
    ids = [kind.id() for kind in ALL]
    assert len(ids) == len(set(ids))
