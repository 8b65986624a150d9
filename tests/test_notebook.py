"""The cell magic: the cell runs unchanged in the user's namespace, then the report."""

import warnings

import pytest

CELL = """
import torch
torch.manual_seed(0)
x, y = torch.randn(64, 6), torch.randint(0, 3, (64,))
model = torch.nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(30):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
print("done", step)
"""


@pytest.fixture
def shell():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        interactive = pytest.importorskip("IPython.core.interactiveshell")
        return interactive.InteractiveShell.instance()


def test_a_cell_that_never_steps_is_diagnosed_and_its_names_stay(shell, capsys):
    shell.run_line_magic("load_ext", "whyloss")
    report = shell.run_cell_magic("whyloss", "--budget 10", CELL)
    assert "done 29" in capsys.readouterr().out
    assert shell.user_ns["step"] == 29
    assert report.cause.cause == "step-never-called"
    assert "step-never-called" in str(report) and "<iframe" in report._repr_html_()


def test_a_cell_that_raises_before_it_trains_gives_no_report(shell):
    shell.run_line_magic("load_ext", "whyloss") if "whyloss" not in shell.magics_manager.magics["cell"] else None
    assert shell.run_cell_magic("whyloss", "", "1 / 0") is None


def test_steps_end_the_cell_without_a_traceback_and_the_report_is_the_result(shell, capsys):
    shell.run_line_magic("load_ext", "whyloss") if "whyloss" not in shell.magics_manager.magics["cell"] else None
    cell = CELL.replace("loss.backward()", "loss.backward(); optimizer.step()")
    done = shell.run_cell(f"%%whyloss --steps 8 --no-experiments\n{cell}")

    shown = capsys.readouterr()
    assert done.success and shell.user_ns["step"] == 7
    assert "Traceback" not in shown.out + shown.err and "done 7" not in shown.out
    assert done.result.verdict == "undetermined" and "looked at" in shown.out


def test_an_unknown_option_is_told(shell):
    from whyloss.cli.notebook import read_options
    from whyloss.errors import BadInput

    with pytest.raises(BadInput, match="it knows --steps"):
        read_options("--stepz 3")


def test_a_cell_that_trains_nothing_says_so(shell, capsys):
    from whyloss.cli.notebook import run_cell

    assert run_cell(shell, "", "print(1 + 1)") is None
    shown = capsys.readouterr()
    assert "2" in shown.out and "trained no torch model" in shown.err
