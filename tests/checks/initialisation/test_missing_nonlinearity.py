"""Linear layers that feed each other directly are one linear map."""

from whyloss.checks.initialisation.missing_nonlinearity import MissingNonlinearity
from whyloss.testing import evidence_from, findings


def evidence(**layers):
    return evidence_from(symptoms=[["plateau-high"]], root={"train.py:20": [{}]},
                         linear_after={name: [{"kind": kind, "before": before}] for name, (kind, before) in layers.items()})


def test_suspects_a_stack_with_nothing_between():
    found = findings(MissingNonlinearity(), evidence(fc1=("first", ""), fc2=("stacked", "fc1"), fc3=("stacked", "fc2")))
    assert [(f.cause, f.subject, f.status) for f in found] == [("missing-nonlinearity", "fc2", "suspected")]
    assert str(found[0].location) == "train.py:20"


def test_spares_a_net_with_one_activation_between():
    assert findings(MissingNonlinearity(), evidence(fc1=("first", ""), fc2=("separate", ""), fc3=("stacked", "fc2"))) == []


def test_spares_a_single_linear_layer():
    assert findings(MissingNonlinearity(), evidence(fc=("first", ""))) == []


def test_is_unexamined_when_the_training_learns():
    assert findings(MissingNonlinearity(), evidence_from(linear_after={"fc2": [{"kind": "stacked", "before": "fc1"}]})) == []
