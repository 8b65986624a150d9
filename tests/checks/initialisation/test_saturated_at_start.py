"""Saturated at step 0."""

from whyloss.checks.initialisation.saturated_at_start import SaturatedAtStart
from whyloss.testing import check_contract, evidence_from, findings

INPUT = {"mean": 78.0, "std": 96.0, "min": 0.0, "max": 255.0, "floating": True}


def net(share=0.99, **more):
    return evidence_from(saturated_share={"fc1:sigmoid": [share]}, activation_place={"fc1:sigmoid": ["net.py:16"]}, **more)


def test_keeps_the_contract():
    check_contract(SaturatedAtStart)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in SaturatedAtStart.needs)


def test_puts_raw_inputs_first():
    first, second = findings(SaturatedAtStart(), net(input={"train.py:36": [INPUT]}))

    assert first.cause == "inputs-not-normalised" and str(first.location) == "train.py:36" and first.status == "suspected"
    assert second.cause == "saturated-activations" and second.subject == "fc1" and str(second.location) == "net.py:16" and second.step == 0


def test_suspects_the_weights_alone_where_inputs_are_of_order_one():
    found, = findings(SaturatedAtStart(), net(input={"train.py:36": [INPUT | {"mean": 0.0, "std": 1.0}]}))

    assert found.cause == "saturated-activations"


def test_spares_a_small_share_a_learning_net_and_an_output_activation():
    assert findings(SaturatedAtStart(), net(0.2)) == []
    assert findings(SaturatedAtStart(), net(learned=[{"learned": True, "share": 0.9}])) == []
    assert findings(SaturatedAtStart(), evidence_from(saturated_share={"out": [0.9]}, loss_call={"t.py:3": [{"producer_module": "out"}]})) == []


def test_leaves_relus_that_are_dead_from_the_start_to_their_own_check():
    assert findings(SaturatedAtStart(), net(dead_over_batches={"fc0:relu": [1.0] * 5})) == []
