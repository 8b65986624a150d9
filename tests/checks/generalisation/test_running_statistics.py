"""Running statistics that are not those of the data."""

from whyloss.checks.generalisation.running_statistics import RunningStatistics
from whyloss.testing import check_contract, evidence_from, findings

ROW = {"trained": 30, "evaluated": 4, "momentum": 0.1, "eps": 1e-5, "values": 640, "shape": [10, 8, 8, 8], "place": "net.py:12", "frozen": False,
       "tracked": True, "fresh": True, "still": False, "pretrained": True, "off": 0.05, "off_log": 0.1, "over_eps": 900.0}
INPUT = {"floating": True, "std": 0.9, "mean": 0.1}


def norm(change, batch=INPUT):
    return evidence_from(batch_norm={"stem.1": [ROW | change]}, input={"train.py:30": [batch]}, totals=[{"backward": 400}])


def test_keeps_the_contract():
    check_contract(RunningStatistics)


def test_is_unexamined_without_batch_norm():
    assert any(need.lacking(evidence_from(loss=[1.0]), "main") for need in RunningStatistics.needs)


def test_proves_statistics_that_never_moved():
    found, = findings(RunningStatistics(), norm({"still": True, "momentum": 0.0, "off": 2.0}))

    assert (found.cause, found.status, found.subject, found.step) == ("running-statistics-off", "proven", "stem.1", 0)


def test_proves_a_frozen_layer_that_drifts():
    found, = findings(RunningStatistics(), norm({"frozen": True, "drift": 0.8, "drift_log": 0.1}))

    assert found.status == "proven" and "0.8" in found.measured


def test_suspects_statistics_far_from_the_batches_and_leaves_the_decision_to_the_experiment():
    found, = findings(RunningStatistics(), norm({"off": 3.0, "momentum": 1e-3}))

    assert found.status == "suspected" and found.asks == {"unseen": True}


def test_proves_variances_as_small_as_epsilon_only_under_tiny_inputs():
    found, = findings(RunningStatistics(), norm({"over_eps": 1.2}, {"floating": True, "std": 0.004, "mean": 0.003}))

    assert found.status == "proven"
    assert findings(RunningStatistics(), norm({"over_eps": 1.2})) == []


def test_spares_usual_statistics_never_evaluated_layers_and_small_drift():
    assert findings(RunningStatistics(), norm({})) == []
    assert findings(RunningStatistics(), norm({"still": True, "evaluated": 0})) == []
    assert findings(RunningStatistics(), norm({"frozen": True, "drift": 0.1, "drift_log": 0.1})) == []
    assert findings(RunningStatistics(), norm({"frozen": True, "pretrained": False, "drift": 2.0, "drift_log": 1.0})) == []
    assert findings(RunningStatistics(), norm({"off": 3.0})) == []  # usual momentum: fast weights, no wrong setting
