"""Graphs that pile up."""

from whyloss.checks.wiring.graph_kept_alive import GraphKeptAlive
from whyloss.testing import check_contract, evidence_from, findings


def loop(alive=(1,) * 40, sizes=(11,) * 40, retain=False, **calls):
    return evidence_from(live_graphs=list(alive), graph_size={"train.py:17": list(sizes)},
                         backward={"train.py:17": [{"retain_graph": retain}] * 40},
                         calls={"backward": {"train.py:17": 40}, **calls})


def test_keeps_the_contract():
    check_contract(GraphKeptAlive)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in GraphKeptAlive.needs)


def test_names_the_line_that_adds_up_the_loss():
    found, = findings(GraphKeptAlive(), loop(alive=range(2, 42), graph_used_after_backward={"train.py:19": 40}))

    assert found.cause == "graph-kept-alive" and found.status == "proven"
    assert str(found.location) == "train.py:19" and "2 loss graphs alive at step 0, 41 at step 39" in found.measured


def test_finds_a_state_that_is_never_detached():
    found, = findings(GraphKeptAlive(), loop(sizes=range(25, 25 + 40 * 19, 19), retain=True))

    assert str(found.location) == "train.py:17" and "graph nodes" in found.measured


def test_spares_one_graph_at_a_time():
    assert findings(GraphKeptAlive(), loop()) == []


def test_spares_losses_kept_for_one_epoch():
    assert findings(GraphKeptAlive(), loop(alive=[1 + at % 30 for at in range(40)])) == []


def test_spares_two_losses_of_one_graph_and_longer_sequences():
    assert findings(GraphKeptAlive(), loop(retain=True)) == []
    assert findings(GraphKeptAlive(), loop(sizes=range(25, 25 + 40 * 19, 19))) == []
