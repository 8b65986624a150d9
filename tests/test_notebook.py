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
