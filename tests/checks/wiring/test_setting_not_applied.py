"""What was set is not what is used."""

import ast

from whyloss.checks.wiring.setting_not_applied import SettingNotApplied
from whyloss.sources import written
from whyloss.testing import check_contract, evidence_from, findings


def given(kind, **more):
    return evidence_from(unapplied_setting={"train.py:12": [{"kind": kind, "subject": "SGD.lr", "given": 0.2, "used": 0.001, **more}]})


def parsed(text):
    tree = ast.parse(text)
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            child.parent = node
    return [("train.py", tree)]


def test_keeps_the_contract():
    check_contract(SettingNotApplied)


def test_is_unexamined_without_its_needs():
    assert any(need.lacking(evidence_from(weather=[1.0]), "main") for need in SettingNotApplied.needs)


def test_proves_an_attribute_that_nothing_reads():
    found, = findings(SettingNotApplied(), given("attribute"))

    assert found.cause == "setting-not-applied" and found.status == "proven" and found.subject == "SGD.lr"
    assert str(found.location) == "train.py:12" and "0.2" in found.measured and "0.001" in found.measured and found.step == 0


def test_suspects_a_rate_that_a_loaded_state_replaced():
    found, = findings(SettingNotApplied(), given("loaded", rate=0.2))

    assert found.status == "suspected" and found.asks == {"rate": 0.2}


def test_says_where_an_old_optimizer_is_scheduled():
    found, = findings(SettingNotApplied(), given("old-optimizer", changes=8, after=200))

    assert "8 times" in found.measured


def test_a_rate_that_is_only_printed_is_unread():
    source = "p.add_argument('--lr', default=0.1)\nprint(f'lr {args.lr}')\noptimizer = SGD(w, lr=1e-4)\n"

    row, = written.unread_rates(parsed(source), {"lr": 0.1})
    assert row["name"] == "lr" and row["value"] == 0.1 and row["place"].endswith("train.py:1")


def test_a_constant_that_nothing_reads_is_unread():
    row, = written.unread_rates(parsed("LEARNING_RATE = 0.05\noptimizer = SGD(w, lr=1e-4)\n"), {})
    assert row["name"] == "LEARNING_RATE" and row["value"] == 0.05


def test_spares_a_rate_that_is_read_or_handed_on():
    assert written.unread_rates(parsed("optimizer = SGD(w, lr=args.lr)\n"), {"lr": 0.1}) == []
    assert written.unread_rates(parsed("self.lr = lr\noptimizer = SGD(w, lr=self.lr * 2)\n"), {"lr": 0.1}) == []


def test_spares_settings_that_travel_as_a_whole():
    assert written.unread_rates(parsed("train(**vars(args))\n"), {"lr": 0.1}) == []
