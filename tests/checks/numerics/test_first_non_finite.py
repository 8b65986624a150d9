"""The first non-finite value."""

import pytest

from whyloss.checks.numerics.first_non_finite import FirstNonFinite
from whyloss.testing import check_contract, evidence_from, findings

FACT = {"phase": "forward", "step": 155, "backward_at": "train.py:36", "loss": float("nan"), "kind": "log-of-zero", "root": "operation",
        "operation": "log",
        "place": "net.py:27", "module": "", "input_min": 0.0, "input_max": 1.0, "input_zeros": 2, "entries": 640, "second_zeros": None,
        "dtype": "float32",
        "hidden_in_forward": []}


def failed(losses=(2.3, 1.0, 0.4), **changes):
    more = {name: changes.pop(name) for name in ("input", "loss_call", "layer", "grad_norm_total", "learned") if name in changes}
    return evidence_from(first_non_finite=[FACT | changes], loss=list(losses), **more)


def test_keeps_the_contract():
    check_contract(FirstNonFinite)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in FirstNonFinite.needs)


@pytest.mark.parametrize(("kind", "operation", "more"), [
    ("log-of-zero", "log", {}), ("root-at-zero", "sqrt", {"phase": "backward"}), ("exp-overflow", "exp", {"input_max": 112.0}),
    ("division-by-zero", "div", {"second_zeros": 3})])
def test_names_the_operation_and_its_line(kind, operation, more):
    found, = findings(FirstNonFinite(), failed(kind=kind, operation=operation, **more))

    assert found.cause == kind and found.status == "proven" and found.subject == operation
    assert str(found.location) == "net.py:27" and found.step == 155


def test_finds_nan_targets_masked_after_the_loss():
    found, = findings(FirstNonFinite(), failed(phase="backward", kind="input", loss=3.2, hidden_in_forward=[{"operation": "pow",
                                                                                                             "place": "net.py:32"}]))

    assert found.cause == "non-finite-gradient" and str(found.location) == "net.py:32"


def test_finds_nan_in_the_batch():
    found, = findings(FirstNonFinite(), failed(kind="input", operation="addmm", step=0, input={"train.py:30": [{"non_finite": 3}]}))

    assert found.cause == "non-finite-inputs" and found.subject == "input"


def test_finds_an_epsilon_that_rounds_to_zero():
    found, = findings(FirstNonFinite(), failed(phase="update", kind="update", operation="step", eps=1e-8, eps_underflows=True, optimizer="Adam",
                                               second_moment_zero_share=0.86, dtype="float16"))

    assert found.cause == "optimizer-epsilon" and "Adam" in found.subject


def test_calls_a_loss_that_grew_a_rate_and_not_an_operation():
    found, = findings(FirstNonFinite(), failed((0.8, 45.0, 8e10, float("inf")), kind="root-at-zero", operation="pow", step=3, input_min=-1e28,
                                               input_max=4e28, input_zeros=0))

    assert found.cause == "learning-rate-too-high" and found.status == "suspected"


def test_asks_first_whether_the_gradients_of_several_passes_were_added_up():
    evidence = evidence_from(first_non_finite=[FACT | {"kind": "root-at-zero", "operation": "pow", "step": 160, "input_min": -1e28,
                                                       "input_max": 4e28, "input_zeros": 0}], loss=[0.8, 45.0, 8e10, float("inf")],
                             learning_rate={"SGD.group0": [0.3] * 10}, calls={"backward": [{"train.py:28": 80}], "step": [{"train.py:30": 10}]},
                             optimizer={"SGD": [{"place": "train.py:9", "stepped": True, "groups": []}]})

    assert [found.cause for found in findings(FirstNonFinite(), evidence)] == ["accumulation-not-normalised", "learning-rate-too-high"]


def test_finds_an_overflow_of_float16_and_an_infeasible_ctc_sample():
    assert findings(FirstNonFinite(), failed(kind="overflow", operation="mul", dtype="float16"))[0].cause == "half-precision-overflow"
    assert findings(FirstNonFinite(), failed(kind="overflow", operation="_ctc_loss"))[0].cause == "infeasible-sample"


def test_spares_infinite_gradients_that_a_scaler_skips():
    evidence = failed(phase="backward", kind="overflow", operation="_to_copy", dtype="float16", learned=[{"learned": True, "share": 0.9}])

    assert findings(FirstNonFinite(), evidence) == []
