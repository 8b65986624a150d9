"""The judging half needs no torch: it imports and diagnoses with torch blocked."""

import subprocess
import sys

PROGRAM = """
import sys
sys.modules["torch"] = None  # importing it raises ImportError
import whyloss.causes, whyloss.checks, whyloss.curves, whyloss.report, whyloss.testing
import whyloss.cli.main, whyloss.cli.run, whyloss.laboratory.names
from whyloss.diagnosis.diagnose import diagnose
from whyloss.render import render
from whyloss.testing import evidence_from

evidence = evidence_from(
    loss=[2.3] * 40, calls={"backward": [{"train.py:23": 40}]},
    totals=[{"backward": 40, "optimizer_steps": 0, "iterations": 40, "optimizers": 1, "evaluations": 0}],
    optimizer={"SGD": [{"class": "SGD", "place": "train.py:12", "held": 2, "foreign": 0, "foreign_names": [], "groups": [{"lr": 0.1}],
                        "initial_groups": [{"lr": 0.1}], "frozen_held": 0, "stepped": False}]},
    parameter={"fc.weight": [{"requires_grad": True, "held": True, "in_model": True, "reached": True, "kind": "Linear", "shape": [3, 4],
                              "dtype": "float32", "unregistered": False, "changed": False, "initial": {"zero": False, "std": 0.1, "norm": 1.0}}]},
    backward={"train.py:23": [{"retain_graph": False}] * 40})
report = diagnose(evidence)
print(report.verdict, report.findings[0].cause, report.findings[0].status)
assert render(report, "json") and render(report, "html") and render(report, "markdown")
"""


def test_the_judging_half_works_without_torch():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == ["fault", "step-never-called", "proven"]
