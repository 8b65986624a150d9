"""Weight decay far above the usual is a suspicion where nothing is learned."""

from whyloss.checks.rate.weight_decay_too_strong import WeightDecayTooStrong
from whyloss.testing import evidence_from, findings


def evidence(decay, **more):
    return evidence_from(optimizer={"SGD": [{"place": "train.py:7", "groups": [{"lr": 0.1, "weight_decay": decay}]}]},
                         weight_norm={"fc.weight": [4.0, 0.1]}, **more)


def test_suspects_a_decay_that_shrinks_the_weights():
    found = findings(WeightDecayTooStrong(), evidence(0.5, symptoms=[["flat-at-baseline"]]))
    assert [(f.cause, f.subject, str(f.location)) for f in found] == [("weight-decay-too-strong", "SGD.group0", "train.py:7")]
    assert "1 of 1 tensors" in found[0].measured


def test_spares_a_usual_decay():
    assert findings(WeightDecayTooStrong(), evidence(1e-2, symptoms=[["flat-at-baseline"]])) == []


def test_is_unexamined_when_the_training_learns():
    assert findings(WeightDecayTooStrong(), evidence(0.5)) == []


def with_penalty(first, *, task=0.9, penalty=True, **more):
    """A loss of two terms; the second is made of weights alone and is taken half."""
    def term(value, **facts):
        return {"value": value, "operation": "sum", "place": "train.py:20", "target": False, "factor": 1.0, "penalty": False} | facts

    return evidence_from(loss_term={"train.py:19#0": [term(task)] * 8,
                                    "train.py:20#1": [term(first * 0.8**n, factor=0.5, penalty=penalty) for n in range(8)]},
                         weight_norm={"w": [4.0, 0.1]}, **more)


def test_suspects_a_penalty_that_is_a_term_of_the_loss():
    found, = findings(WeightDecayTooStrong(), with_penalty(12.0, symptoms=[["not-learning"]]))
    assert found.asks == {"penalties": ["train.py:20"]} and str(found.location) == "train.py:20"
    assert "begins at 6 beside 0.9" in found.measured


def test_spares_a_small_penalty_and_a_term_that_reads_data():
    assert findings(WeightDecayTooStrong(), with_penalty(0.01, symptoms=[["not-learning"]])) == []
    assert findings(WeightDecayTooStrong(), with_penalty(12.0, penalty=False, symptoms=[["not-learning"]])) == []


def coupled(optimizer, *, shrunk=True, decoupled=False):
    group = {"lr": 0.005, "weight_decay": 0.02, "decoupled_weight_decay": decoupled}
    return evidence_from(optimizer={optimizer: [{"class": optimizer, "place": "train.py:7", "groups": [group]}]},
                         weight_norm={"p.weight": [4.0, 0.1 if shrunk else 3.9]}, symptoms=[["plateau-high"]])


def test_suspects_a_coupled_decay_of_an_adaptive_optimizer_that_shrinks_the_weights():
    found, = findings(WeightDecayTooStrong(), coupled("Adam"))
    assert "0.02" in found.measured and "1e-6 to 1e-3" in found.expected


def test_spares_the_same_decay_where_it_is_decoupled_does_not_shrink_or_belongs_to_sgd():
    assert findings(WeightDecayTooStrong(), coupled("AdamW", decoupled=True)) == []
    assert findings(WeightDecayTooStrong(), coupled("Adam", shrunk=False)) == []
    assert findings(WeightDecayTooStrong(), coupled("SGD")) == []
