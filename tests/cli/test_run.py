"""`whyloss run` and `whyloss try` around a stand-in for the watcher: statuses, files, messages."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from whyloss.cli.main import main
from whyloss.finding import Finding
from whyloss.render import json as reports
from whyloss.report import Report

FAULT = Report("fault", findings=(Finding("step-never-called", "proven", measured="40 backward passes, 0 steps"),))


class Watcher:
    """Leaves the files that it is told to, and returns a status."""

    def __init__(self):
        self.status, self.files = 0, {}

    def __call__(self, command, settings, session):
        for name, text in self.files.items():
            (session / name).write_text(text)
        return self.status

    def leaves(self, report: Report):
        self.files["report.json"] = reports.render(report)


@pytest.fixture
def watcher(monkeypatch, tmp_path):
    found = Watcher()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("whyloss.cli.run.launch", found)
    monkeypatch.setattr("whyloss.cli.attempt.launch", found)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    return found


def run(*args, command="run"):
    return CliRunner().invoke(main, [command, *args, "t.py"])


@pytest.mark.parametrize("status", [0, 1, 3, 77])
def test_keeps_the_scripts_status(watcher, status):
    watcher.leaves(FAULT)
    watcher.status = status

    assert run().exit_code == status


def test_strict_ends_with_1_on_a_fault_only(watcher):
    watcher.leaves(FAULT)
    assert run("--strict").exit_code == 1
    watcher.leaves(Report("undetermined"))
    assert run("--strict").exit_code == 0


def test_the_report_goes_to_standard_error(watcher):
    watcher.leaves(FAULT)
    result = run()

    assert "no optimizer step" in result.stderr and result.stdout == ""


def test_quiet_shows_nothing_and_still_writes(watcher):
    watcher.leaves(FAULT)
    result = run("--quiet", "--report", "r.json", "--report", "r.md")

    assert result.output == "" and json.loads(Path("r.json").read_text())["verdict"] == "fault"
    assert "no optimizer step" in Path("r.md").read_text()


def test_says_when_nothing_was_trained(watcher):
    result = run("--report", "r.json")

    assert "never trained a torch model" in result.stderr and result.exit_code == 0
    assert json.loads(Path("r.json").read_text())["verdict"] == "undetermined"


def test_passes_the_watchers_own_message_on(watcher):
    watcher.files["message.txt"] = "torch is not installed here\n"

    assert "torch is not installed here" in run().stderr


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"schema": 1, "verdict": "fault", "findings": 3}'])
def test_a_report_that_cannot_be_read_does_not_cost_the_status(watcher, text):
    watcher.files["report.json"] = text
    watcher.status = 5
    result = run()

    assert result.exit_code == 5 and "cannot be read" in result.stderr


def test_a_report_that_cannot_be_written_does_not_cost_the_status(watcher, monkeypatch):
    watcher.leaves(FAULT)
    watcher.status = 4
    monkeypatch.setattr("os.replace", lambda *a: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    result = run("--report", "r.json")

    assert result.exit_code == 4 and "No space left" in result.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_told(watcher, tmp_path):
    watcher.leaves(FAULT)
    (tmp_path / "full.json").symlink_to("/dev/full")
    result = run("--report", "full.json", "--quiet")

    assert result.exit_code == 0 and "No space left" in result.stderr


def test_annotates_a_github_job(watcher, monkeypatch, tmp_path):
    watcher.leaves(FAULT)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))

    assert "::error title=whyloss%3A step-never-called" in run().stderr
    assert "no optimizer step" in (tmp_path / "summary.md").read_text()


def in_a_process(body: str, *args):
    """The real process exit, with a stand-in watcher."""
    code = f"import whyloss.cli.run as r\n{body}\nfrom whyloss.cli.main import main\nmain({['run', *args, 't.py']!r})"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("number", [9, 15, 2, 6])
def test_dies_of_the_signal_that_the_script_died_of(number):
    done = in_a_process(f"r.launch = lambda *a: -{number}")

    assert done.returncode == -number and "whyloss" in done.stderr


def test_survives_a_closed_standard_error():
    done = in_a_process("import os; os.close(2)\nr.launch = lambda *a: 6")

    assert done.returncode == 6


@pytest.fixture
def laboratory(monkeypatch):
    from types import SimpleNamespace

    known = {"range-test": "raise the rate step by step", "fresh-init": "start again"}
    monkeypatch.setitem(sys.modules, "whyloss.laboratory.names", SimpleNamespace(EXPERIMENTS=known))


def test_try_lists_experiments(watcher, laboratory):
    result = CliRunner().invoke(main, ["try", "list"])

    assert "range-test" in result.output and "start again" in result.output


def test_try_shows_the_result_and_keeps_the_status(watcher, laboratory):
    watcher.files["trial.json"] = '{"summary": "best at 0.03", "rows": [{"label": "x", "value": "NaN"}]}'
    watcher.status = 3
    result = run("range-test", command="try")

    assert result.exit_code == 3 and "best at 0.03" in result.stderr and "NaN" in result.stderr


def test_try_says_why_there_is_no_result(watcher, laboratory):
    assert "never trained" in run("range-test", command="try").stderr


def test_try_of_an_unknown_name_is_wrong_usage(watcher, laboratory):
    result = run("rangetest", command="try")

    assert result.exit_code == 2 and "range-test" in result.output
