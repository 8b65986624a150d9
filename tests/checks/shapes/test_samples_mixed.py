"""Batch taken for time."""

from whyloss.checks.shapes.samples_mixed import SamplesMixed
from whyloss.testing import check_contract, evidence_from, findings


def net(given, made, samples=32, kind="GRU"):
    return evidence_from(layer={"rnn": [{"kind": kind, "in": given, "out": made}]}, loss_call={"train.py:44": [{"shape": [samples, 2]}]})


def test_keeps_the_contract():
    check_contract(SamplesMixed)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in SamplesMixed.needs)


def test_suspects_a_missing_batch_first():
    found, = findings(SamplesMixed(), net("(32, 12, 4)", "(32, 12, 16) (1, 12, 16)"))

    assert found.cause == "samples-mixed" and found.status == "suspected" and found.subject == "rnn" and found.step == 0
    assert found.remedies == ("set batch_first=True",)


def test_spares_both_right_layouts():
    assert findings(SamplesMixed(), net("(32, 12, 4)", "(32, 12, 16) (1, 32, 16)")) == []
    assert findings(SamplesMixed(), net("(12, 32, 4)", "(12, 32, 16) (1, 32, 16)")) == []


def test_spares_flattened_predictions_and_other_layers():
    assert findings(SamplesMixed(), net("(32, 12, 4)", "(32, 12, 16) (1, 32, 16)", samples=384)) == []
    assert findings(SamplesMixed(), net("(32, 12, 4)", "(32, 12, 16) (1, 12, 16)", kind="Custom")) == []


def attention(given, batch_first, samples=40):
    return evidence_from(layer={"encoder.self_attn": [{"kind": "MultiheadAttention", "in": given, "out": given, "batch_first": batch_first}]},
                         loss_call={"train.py:44": [{"shape": [samples, 3]}]})


def test_suspects_attention_over_the_batch():
    found, = findings(SamplesMixed(), attention("(40, 12, 24) (40, 12, 24) (40, 12, 24)", False))

    assert found.subject == "encoder.self_attn" and found.asks == {"module": "encoder.self_attn"}


def test_spares_attention_with_the_axes_right():
    assert findings(SamplesMixed(), attention("(40, 12, 24)", True)) == []
    assert findings(SamplesMixed(), attention("(12, 40, 24)", False)) == []


def reshaped(before, after, fed, samples=50):
    return evidence_from(layer={"rnn": [{"kind": "LSTM", "in": "(8, 50, 8)", "out": "(8, 50, 40) (1, 50, 40)"}]},
                         loss_call={"train.py:44": [{"shape": [samples, 10]}]}, input={"train.py:25": [{"shape": fed, "floating": True}]},
                         axis_lost={"train.py:24": [{"operation": "reshape", "module": "", "before": before, "after": after, "kind": "samples"}]})


def test_proves_a_batch_axis_moved_by_reshape():
    found, = findings(SamplesMixed(), reshaped([50, 8, 8], [8, 50, 8], [8, 50, 8]))

    assert found.status == "proven" and str(found.location) == "train.py:24" and "(50, 8, 8) to (8, 50, 8)" in found.measured


def test_spares_a_reshape_of_something_else():
    assert findings(SamplesMixed(), reshaped([50, 8, 8], [8, 50, 8], [50, 8, 8])) == []
    assert findings(SamplesMixed(), reshaped([4, 8, 8], [8, 4, 8], [8, 4, 8])) == []
