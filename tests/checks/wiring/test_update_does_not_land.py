"""An update that changes nothing."""

from whyloss.checks.wiring.update_does_not_land import UpdateDoesNotLand
from whyloss.testing import check_contract, evidence_from, findings


def parameter(**changes):
    return {"requires_grad": True, "held": True, "in_model": True, "reached": True, "kind": "Linear", "shape": [4, 4],
            "dtype": "float32", "unregistered": False, "changed": True} | changes


def by_hand(changed=False, **more):
    return evidence_from(totals=[{"backward": 40, "optimizer_steps": 0}], parameter={"fc1.weight": parameter(changed=changed)},
                         **{"calls": {"read_grad": {"train.py:36": 80}}} | more)


def stepped(*, changed=False, rate=0.1, norm=1.0, dtype="float32"):
    return evidence_from(totals=[{"backward": 40, "optimizer_steps": 40}], calls={"step": {"train.py:24": 40}},
                         parameter={"fc1.weight": parameter(changed=changed, dtype=dtype)}, optimizer={"Own": {"stepped": True}},
                         learning_rate={"Own.group0": [rate] * 40}, grad_norm={"fc1.weight": [norm] * 40},
                         step={"Own": [{"norm": norm}] * 40})


def functional(moved, **more):
    return evidence_from(totals=[{"backward": 0}], calls={"autograd.grad": {"train.py:39": 40}}, functional_grad={
        "train.py:39": [{"loss": 0.6, "moved": None, "names": ["params[0]"]}] + [{"loss": 0.6, "moved": moved, "names": []}] * 9}, **more)


def test_keeps_the_contract():
    check_contract(UpdateDoesNotLand)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in UpdateDoesNotLand.needs)


def test_names_the_line_that_binds_a_new_name():
    found, = findings(UpdateDoesNotLand(), by_hand())

    assert found.cause == "update-does-not-land" and found.status == "proven" and found.subject == "fc1.weight"
    assert str(found.location) == "train.py:36" and "max |dw| = 0" in found.measured


def test_names_the_functional_gradient_whose_result_is_dropped():
    found, = findings(UpdateDoesNotLand(), functional(moved=False))

    assert found.subject == "params[0]" and str(found.location) == "train.py:39"


def test_finds_an_optimizer_that_writes_to_a_copy():
    found, = findings(UpdateDoesNotLand(), stepped())

    assert str(found.location) == "train.py:24"


def test_a_value_that_is_written_in_place_and_stays_has_a_rate_of_zero():
    def written(norm, count=80):
        calls = {"read_grad": {"train.py:36": 80}, "write_parameter": {"train.py:37": count}}
        return by_hand(grad_norm={"fc1.weight": [norm] * 40}, calls=calls)
    found, = findings(UpdateDoesNotLand(), written(1.0))
    assert found.cause == "learning-rate-zero" and found.status == "proven" and str(found.location) == "train.py:37"

    for other in (written(0.0), written(1.0, count=1)):  # the gradient is 0; once, at the start, is no update
        found, = findings(UpdateDoesNotLand(), other)
        assert found.cause == "update-does-not-land"


def test_spares_updates_that_land():
    assert findings(UpdateDoesNotLand(), by_hand(changed=True)) == []
    assert findings(UpdateDoesNotLand(), functional(moved=True)) == []
    assert findings(UpdateDoesNotLand(), stepped(changed=True)) == []
    learner = functional(moved=False, parameter={"rule.weight": parameter(changed=True)}, step={"Adam": [{"norm": 1.0}] * 4})
    assert findings(UpdateDoesNotLand(), learner) == []  # an inner loop that begins anew each time, and what it trains


def test_spares_a_rate_of_zero_and_one_below_the_number_format():
    assert findings(UpdateDoesNotLand(), stepped(rate=0.0)) == []
    assert findings(UpdateDoesNotLand(), stepped(rate=1e-12)) == []
    assert findings(UpdateDoesNotLand(), stepped(dtype="bfloat16")) == []


def test_spares_steps_without_a_gradient():
    assert findings(UpdateDoesNotLand(), stepped(norm=0.0)) == []


def test_leaves_an_optimizer_that_never_steps_to_its_own_check():
    assert findings(UpdateDoesNotLand(), by_hand(optimizer={"Adam": {"stepped": False}})) == []
