"""The commands that inform, options and their defaults, and wrong usage. Nothing here starts a script."""

import subprocess
import sys
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

from whyloss.cli import settings
from whyloss.cli.main import COMMANDS, main
from whyloss.cli.run import command as run
from whyloss.errors import BadInput, UnknownName


def call(*args, **options):
    return CliRunner().invoke(main, list(args), **options)


def test_help_names_every_command():
    assert all(name in call("--help").output for name in COMMANDS)


def test_explains_a_cause_with_remedy_source_and_experiment():
    shown = call("explain", "dead-relus").output

    assert "0 for every input" in shown and "try" in shown and "1903.06733" in shown and "fresh-init" in shown


def test_an_unknown_cause_names_the_nearest_and_is_wrong_usage():
    result = call("explain", "dead-relu")

    assert result.exit_code == 2 and "nearest: dead-relus" in result.output


def test_explains_the_label_of_a_curve():
    assert "not a cause" in call("explain", "flat-from-start").output
    assert "wider copy" in call("explain", "underfitting").output


def test_lists_one_family_or_all():
    assert "dead-relus" in call("causes").output
    assert "dead-relus" not in call("causes", "--family", "loop").output
    assert call("causes", "--family", "lop").exit_code == 2


def test_prints_the_order(monkeypatch):
    stage = SimpleNamespace(name="wiring", question="does every call reach what it should?", isolates="the loop",
                            experiment="", on_healthy="start", on_finding="end", on_unexamined="start", source="")
    monkeypatch.setitem(sys.modules, "whyloss.diagnosis.order", SimpleNamespace(STAGES=[stage]))
    shown = call("order").output

    assert "1 wiring" in shown and "does every call reach" in shown and "experiment" not in shown


def test_starts_without_torch_and_without_rich():
    code = ("import sys, whyloss.cli.main, whyloss.cli.run, whyloss.render, whyloss.causes\n"
            "assert 'torch' not in sys.modules and 'rich' not in sys.modules and 'jinja2' not in sys.modules")

    subprocess.run([sys.executable, "-c", code], check=True)


def test_python_dash_m_works():
    done = subprocess.run([sys.executable, "-m", "whyloss", "--help"], capture_output=True, text=True, check=True)

    assert "whyloss run train.py" in done.stdout


@pytest.mark.parametrize("args, said", [
    (["run"], "nothing to watch"), (["run", "-m"], "nothing to watch"),
    (["run", "--sterict", "t.py"], "nearest: --strict"),
    (["run", "--report", "a.pdf", "t.py"], "suffix"), (["run", "--report", "no/such/a.json", "t.py"], "no folder"),
    (["run", "--ignore", "dead-relu", "t.py"], "dead-relus"), (["run", "--steps", "0", "t.py"], "--steps"),
    (["run", "--budget", "-1", "t.py"], "--budget"), (["train.py"], "whyloss run train.py")])
def test_wrong_usage_ends_with_2_before_anything_starts(args, said, monkeypatch):
    monkeypatch.setattr("whyloss.cli.run.launch", lambda *a: pytest.fail("was started"))
    result = call(*args)

    assert result.exit_code == 2 and said in result.output


class Folder:
    """A folder with a pyproject.toml, and what `run` would get."""

    def __init__(self, path, monkeypatch):
        self.path, self.seen = path, None
        monkeypatch.chdir(path)
        monkeypatch.setattr("whyloss.cli.run.launch", self.launch)

    def launch(self, command, options, session):
        self.seen = (command, options)
        return 0

    def configure(self, text):
        (self.path / "pyproject.toml").write_text(text)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    return Folder(tmp_path, monkeypatch)


def test_defaults_come_from_pyproject(folder):
    folder.configure('[tool.whyloss]\nsteps = 30\nbudget = 5.5\nno-experiments = true\nignore = ["dead-relus"]\n')
    call("run", "t.py")

    assert folder.seen[1] == {"steps": 30, "budget": 5.5, "experiments": False, "only": [], "ignore": ["dead-relus"],
                              "layers": False}


def test_a_flag_beats_the_environment_and_the_environment_beats_pyproject(folder):
    folder.configure("[tool.whyloss]\nsteps = 1\nbudget = 1\n")
    call("run", "--steps", "3", "t.py", env={"WHYLOSS_STEPS": "2", "WHYLOSS_BUDGET": "2"})

    assert folder.seen[1]["steps"] == 3 and folder.seen[1]["budget"] == 2


@pytest.mark.parametrize("text, said", [
    ("[tool.whyloss]\nstep = 3\n", "nearest: steps"), ("[tool.whyloss]\nsteps = true\n", "a number"),
    ("[tool.whyloss]\nstrict = 1\n", "true or false"), ("[tool.whyloss]\nignore = [1]\n", "list of strings"),
    ("[tool.whyloss]\nsteps = 0\n", "--steps"), ("[tool\n", "cannot read"), ("[tool]\nwhyloss = 3\n", "a table")])
def test_a_wrong_setting_is_wrong_usage(folder, text, said):
    folder.configure(text)
    result = call("run", "t.py")

    assert result.exit_code == 2 and said in result.output and folder.seen is None


def test_the_nearest_pyproject_counts_even_without_a_table(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.whyloss]\nsteps = 3\n")
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)

    assert settings.table(inner)[0] == {"steps": 3}
    (inner / "pyproject.toml").write_text("[project]\n")
    assert settings.table(inner)[0] == {}


def test_every_option_of_run_has_an_environment_variable():
    options = [p for p in run.params if isinstance(p, click.Option)]

    assert {p.envvar for p in options} == {settings.variable(settings.option_key(p)) for p in options}


@pytest.mark.parametrize("args, command", [
    (["t.py", "--report", "B", "-x", "--help"], ["t.py", "--report", "B", "-x", "--help"]),
    (["-m", "pkg.train", "--strict"], ["-m", "pkg.train", "--strict"]),
    (["torchrun", "--nproc-per-node", "2", "t.py"], ["torchrun", "--nproc-per-node", "2", "t.py"]),
    (["--strict", "--", "t.py", "--", "-a"], ["t.py", "--", "-a"])])
def test_what_follows_is_the_scripts_own(folder, args, command):
    call("run", *args)

    assert folder.seen[0] == command


def test_errors_of_wrong_names_are_not_tracebacks(folder):
    assert isinstance(call("run", "--only", "x", "t.py").exception, SystemExit)
    assert issubclass(UnknownName, Exception) and issubclass(BadInput, Exception)
