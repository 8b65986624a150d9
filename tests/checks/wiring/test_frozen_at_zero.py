"""Frozen zeros that close a branch."""

from whyloss.checks.wiring.frozen_at_zero import FrozenAtZero
from whyloss.testing import check_contract, evidence_from, findings


def parameter(**changes):
    return {"requires_grad": True, "held": True, "in_model": True, "reached": True, "kind": "Linear", "shape": [8, 4], "dtype": "float32",
            "unregistered": False, "changed": True, "initial": {"zero": False}, "frozen_at": None} | changes


CLOSED = parameter(requires_grad=False, held=False, reached=False, changed=False, initial={"zero": True}, frozen_at="train.py:30")
FROZEN = parameter(requires_grad=False, held=False, reached=False, changed=False)


def adapted(b=CLOSED, a=FROZEN, state="none", steps=5, head=None):
    return evidence_from(
        parameter={"q.base.weight": FROZEN, "q.lora_A.weight": a, "q.lora_B.weight": b, "head.weight": head or parameter()},
        optimizer={"Adam": {"class": "Adam", "place": "train.py:40", "held": 1, "frozen_held": 0, "stepped": True}},
        grad_state={"q.lora_A.weight": [state] * steps, "head.weight": ["finite"] * steps},
        frozen_factor={"q.lora_B.weight": [{"operation": "linear", "place": "train.py:12", "behind": ["embed.weight", "q.lora_A.weight"]}]})


def test_keeps_the_contract():
    check_contract(FrozenAtZero)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in FrozenAtZero.needs)


def test_suspects_a_branch_that_is_frozen_as_a_whole_and_asks_to_unfreeze_that_branch_alone():
    found, = findings(FrozenAtZero(), adapted())

    assert found.cause == "parameters-frozen" and found.status == "suspected" and found.subject == "q.lora_B" and found.step == 0
    assert found.asks["only"] == ("q.lora_B.weight", "q.lora_A.weight") and str(found.location) == "train.py:30"


def test_proves_that_what_trains_in_front_of_a_frozen_zero_gets_no_gradient():
    found, = findings(FrozenAtZero(), adapted(a=parameter(changed=False), state="zero"))

    assert found.status == "proven" and "gradient of q.lora_A.weight is exactly 0" in found.measured


def test_names_the_optimizers_line_where_the_matrix_was_made_without_a_gradient():
    found, = findings(FrozenAtZero(), adapted(b=CLOSED | {"frozen_at": None}))

    assert str(found.location) == "train.py:40"


def test_does_not_prove_by_the_first_steps_alone():
    found, = findings(FrozenAtZero(), adapted(a=parameter(), state="zero", steps=2))

    assert found.status == "suspected"


def test_spares_zeros_that_train_or_were_set_free_later():
    assert findings(FrozenAtZero(), adapted(b=CLOSED | {"requires_grad": True, "changed": True})) == []
    assert findings(FrozenAtZero(), adapted(b=CLOSED | {"requires_grad": True})) == []


def test_spares_what_was_trained_before_it_was_frozen():
    assert findings(FrozenAtZero(), adapted(b=CLOSED | {"changed": True})) == []


def test_spares_a_model_of_which_nothing_trains():
    assert findings(FrozenAtZero(), adapted(head=FROZEN)) == []
