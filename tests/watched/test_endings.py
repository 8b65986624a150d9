"""How a watched run may end: stopped by --steps, interrupted, killed, or never training at all. There is always an answer."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

LOOP = """
import sys, time, torch
from torch import nn
torch.manual_seed(0)
x, y = torch.randn(64, 6), torch.randint(0, 3, (64,))
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
step = 0
while step < {steps}:
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    step += 1
    if step == 60:
        print("sixty", flush=True)
    time.sleep({sleep})
print("end")
"""


def start(tmp_path, *options, steps=100, sleep=0.0):
    script = tmp_path / "train.py"
    script.write_text(LOOP.format(steps=steps, sleep=sleep))
    command = [sys.executable, "-m", "whyloss", "run", "--report", str(tmp_path / "r.json"), *options, str(script)]
    return subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def test_ctrl_c_gives_the_report_so_far(tmp_path):
    child = start(tmp_path, steps=100000, sleep=0.005)
    assert child.stdout.readline() == "sixty\n"
    os.killpg(child.pid, signal.SIGINT)
    out, err = child.communicate(timeout=120)
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["findings"][0]["cause"] == "step-never-called"
    assert "KeyboardInterrupt" in err and "end" not in out
    assert child.returncode in (-signal.SIGINT, 130, 1)


def inner(child) -> int:
    return int(subprocess.run(["pgrep", "-P", str(child.pid)], capture_output=True, text=True).stdout.split()[0])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_what_was_written_down_before_a_kill_is_judged(tmp_path, number):
    child = start(tmp_path, steps=100000, sleep=0.005)
    assert child.stdout.readline() == "sixty\n"
    time.sleep(2.5)
    os.kill(inner(child), number)
    _, err = child.communicate(timeout=60)
    report = json.loads((tmp_path / "r.json").read_text())
    assert child.returncode == -number and "Traceback" not in err
    assert report["findings"][0]["cause"] == "step-never-called" and "without its report" in report["summary"]


def test_a_script_that_leaves_by_os_exit_is_judged_all_the_same(tmp_path):
    script = tmp_path / "train.py"
    script.write_text("import os\n" + LOOP.format(steps=30, sleep=0.0) + "os._exit(7)")
    done = subprocess.run([sys.executable, "-m", "whyloss", "run", "--report", "r.json", str(script)], cwd=tmp_path, capture_output=True, timeout=120)
    assert done.returncode == 7
    assert json.loads((tmp_path / "r.json").read_text())["findings"][0]["cause"] == "step-never-called"


def test_ctrl_c_during_the_experiments_ends_them_and_reports(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(LOOP.format(steps=62, sleep=0.0).replace("lr=0.1", "lr=1e-9").replace(
        "    step += 1", "    optimizer.step(); optimizer.zero_grad(); step += 1").replace(
        "nn.Linear(6, 3)", "nn.Sequential(*[m for _ in range(12) for m in (nn.Linear(6, 6), nn.Tanh())], nn.Linear(6, 3))"))
    child = subprocess.Popen([sys.executable, "-m", "whyloss", "run", "--report", "r.json", str(script)], cwd=tmp_path, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    while child.stdout.readline() != "end\n":
        pass
    time.sleep(1.5)
    began = time.monotonic()
    os.kill(inner(child), signal.SIGINT)
    _, err = child.communicate(timeout=100)
    assert child.returncode == 0 and "Traceback" not in err and time.monotonic() - began < 8
    assert json.loads((tmp_path / "r.json").read_text())["verdict"]


def test_a_ledger_that_cannot_be_written_costs_nothing_but_itself(tmp_path):
    code = ("import sys; sys.argv = ['x']\nfrom pathlib import Path\n"
            "from whyloss.sources.ledger import Ledger\nfrom whyloss.evidence import Evidence\n"
            "e = Evidence(); e.add('loss', 1.0)\nledger = Ledger(Path('/proc/no/such'))\nledger.write(e, Evidence())\n"
            "assert ledger.problem and not ledger.due(100)")
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_steps_ends_the_run_cleanly(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(LOOP.format(steps=10**6, sleep=0.0).replace("    step += 1", "    optimizer.step(); optimizer.zero_grad(); step += 1"))
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "whyloss", "run", "--steps", "50", "--report", str(tmp_path / "r.json"), str(script)],
                          cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and time.monotonic() - began < 100
    assert json.loads((tmp_path / "r.json").read_text())["curves"][0]["points"]["steps"][-1] == 49


@pytest.mark.parametrize("body, word", [("print('no torch here')", "never trained"), ("import torch\nprint(torch.ones(2).sum())", "never trained")])
def test_a_script_that_never_trains_gets_one_clear_sentence(tmp_path, body, word):
    script = tmp_path / "plain.py"
    script.write_text(body)
    done = subprocess.run([sys.executable, "-m", "whyloss", "run", str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and word in done.stderr and "Traceback" not in done.stderr


def test_a_module_is_run_by_name(tmp_path):
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "train.py").write_text(LOOP.format(steps=30, sleep=0.0))
    done = subprocess.run([sys.executable, "-m", "whyloss", "run", "--report", "r.json", "-m", "pack.train"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=120)
    assert done.stdout == "end\n"
    assert json.loads((tmp_path / "r.json").read_text())["findings"][0]["cause"] == "step-never-called"


@pytest.mark.parametrize("options", [[], ["--watch", "ledger"]])
def test_an_interrupted_script_ends_by_its_signal(tmp_path, options):
    (tmp_path / "train.py").write_text(LOOP.format(steps=10, sleep=0.0) + "raise KeyboardInterrupt")
    done = subprocess.run([sys.executable, "-m", "whyloss", "run", *options, "train.py"], cwd=tmp_path, capture_output=True, timeout=120)
    assert done.returncode == -signal.SIGINT
