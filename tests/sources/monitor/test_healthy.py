"""Healthy programs that look sick raise no alert, though every step is looked at: here those that came nearest to one."""

import subprocess
import sys
from pathlib import Path

import pytest

PATIENTS = Path(__file__).resolve().parents[2] / "patients"
SRC = PATIENTS.parent.parent / "src"
# runs a script with a monitor on every model that an optimizer updates, from its second step on
DRIVER = """
import gc, os, runpy, sys
import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook
from whyloss.sources.monitor import Monitor
monitors, seen = [], set()
def before(optimizer, args, kwargs):
    if id(optimizer) in seen:
        return
    seen.add(id(optimizer))
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    models = [m for m in gc.get_objects() if type(m).__module__ != "torch.distributed" and isinstance(m, torch.nn.Module)
              and any(id(p) in held for p in m.parameters())]
    inside = {id(part) for m in models for part in m.modules() if part is not m}
    for m in models:
        if id(m) not in inside and not any(known.model is m for known in monitors):
            monitors.append(Monitor(m, every=1).attach())
register_optimizer_step_pre_hook(before)
os.chdir(os.path.dirname(sys.argv[1]))
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
for monitor in monitors:
    monitor.close()
    print("WATCHED", monitor.problem, monitor.sampled > 50, [(a.kind, a.step) for a in monitor.alerts])
"""


@pytest.mark.parametrize("name", ["H10_moe_top1", "H11_lora", "H23_dqn_target_net"])
def test_a_healthy_look_alike_raises_no_alert(name):
    done = subprocess.run([sys.executable, "-c", DRIVER, str(PATIENTS / name / "healthy.py")], capture_output=True, text=True, timeout=240,
                          env={"PYTHONPATH": str(SRC), "OMP_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stdout.splitlines() if line.startswith("WATCHED")]
    assert told and all(line == "WATCHED None True []" for line in told), told
