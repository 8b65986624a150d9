"""A Monitor on real ranks over gloo: merged ledgers give the global norms, name what sets ranks apart, and are silent on healthy runs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from whyloss import checks
from whyloss.diagnosis.examine import examine
from whyloss.sources.merging import merge

SCRIPTS = Path(__file__).parent / "scripts"
FREE = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE")} | {"OMP_NUM_THREADS": "1"}
HEALTHY = ("replicas-exact", "sharded-exact", "replicas-accumulation", "replicas-by-hand", "replicas-local-sgd")
FAULTS = {"bypass": "gradients-not-reduced", "same-data": "ranks-see-same-data", "split-classes": "batch-statistics-not-synchronised",
          "clip": "ranks-diverge", "rate": "ranks-diverge", "own-start": "ranks-diverge", "sharded-same-data": "ranks-see-same-data"}


def launched(folder, ranks, *names):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks), str(SCRIPTS / "monitored.py"),
               str(folder), *names]
    done = subprocess.run(command, env=FREE, cwd=folder, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-6000:]
    assert "whyloss:" not in done.stderr
    return folder


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    return launched(tmp_path_factory.mktemp("two"), 2, *HEALTHY, *FAULTS, "replicas-bare", "sharded-bare")


@pytest.fixture(scope="module")
def four(tmp_path_factory):
    return launched(tmp_path_factory.mktemp("four"), 4, *HEALTHY, "bypass", "clip")


def findings(evidence):
    examined = [examine(check(), evidence) for check in checks.ALL if check.stage == "ranks"]
    return [f for e in examined for f in e.findings]


@pytest.mark.parametrize("name", ["replicas-exact", "sharded-exact"])
@pytest.mark.parametrize("ranks", ["two", "four"])
def test_merged_ledgers_give_the_exact_global_norms(ranks, name, request):
    folder = request.getfixturevalue(ranks) / name
    merged, exact = merge(folder), json.loads((folder / "exact.json").read_text())

    assert merged.fact("ranks_merged")["incomplete"] == [] and len(exact["norms"]) == 24
    for at, row in enumerate(exact["norms"]):
        for parameter, numbers in row.items():
            for quantity, number in zip(("grad_norm", "weight_norm", "update_ratio"), numbers):
                series = merged.series(quantity, parameter.removeprefix("module."))
                assert series.steps[at] == at and series.values[at] == pytest.approx(number, rel=2e-4), (quantity, parameter, at)
        total = sum(numbers[0] ** 2 for numbers in row.values()) ** 0.5
        assert merged.series("grad_norm").values[at] == pytest.approx(total, rel=1e-5)
    assert merged.series("loss").values[-1] == pytest.approx(exact["last_loss"], rel=1e-5)


@pytest.mark.parametrize("kind", ["replicas", "sharded"])
def test_weights_are_bitwise_those_of_ranks_without_a_monitor(kind, two):
    for rank in (0, 1):
        bare, seen = (torch.load(two / f"{kind}-{how}" / f"weights-{rank}.pt") for how in ("bare", "exact"))
        assert all(torch.equal(bare[name], seen[name]) for name in bare)


@pytest.mark.parametrize("name", HEALTHY)
@pytest.mark.parametrize("ranks", ["two", "four"])
def test_healthy_ranks_raise_nothing(ranks, name, request):
    merged = merge(request.getfixturevalue(ranks) / name)

    assert findings(merged) == []
    assert merged.has("ranks_replica") and merged.fact("ranks_merged")["ranks"] == {"two": 2, "four": 4}[ranks]


@pytest.mark.parametrize("ranks, name", [*(("two", name) for name in FAULTS), ("four", "bypass"), ("four", "clip")])
def test_merged_ledgers_name_what_sets_the_ranks_apart(ranks, name, request):
    found, = findings(merge(request.getfixturevalue(ranks) / name))

    assert found.cause == FAULTS[name] and found.status == "proven"
    if name == "bypass":
        assert found.location.file.endswith("monitored.py") and "past the wrapper" in found.message
    if name == "clip":
        assert found.step == 1 and "equal after the averaging and differ at the step" in found.message
    if name == "rate":
        assert found.step == 7 and "learning rates differ" in found.message
    if name == "own-start":
        assert "start from different weights" in found.message


@pytest.mark.parametrize("how", ["inside", "outside", "fork"])
def test_a_script_that_knows_nothing_is_watched_on_every_rank(how, tmp_path):
    script = tmp_path / "train.py"
    text = (SCRIPTS / "replicas.py").read_text()
    if how != "fork":
        text = text.split("if __name__")[0].replace('init_method=f"file://{folder}/meeting", rank=rank, world_size=2', "")
        text += 'train(int(os.environ["RANK"]), ".", "bypass")\n'
    script.write_text(text)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    watch = ["-m", "whyloss", "run", "--watch", str(tmp_path / "ledgers")]
    command = {"inside": [*torchrun, *watch, str(script)], "outside": [sys.executable, *watch, *torchrun, str(script)],
               "fork": [sys.executable, *watch, str(script), str(tmp_path), "fork", "bypass"]}[how]
    done = subprocess.run(command, env=FREE, cwd=tmp_path, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-2000:]

    assert done.stderr.count("whyloss: watched 19 steps") == 1, done.stderr[-800:]
    merged = merge(tmp_path / "ledgers")
    assert [f.cause for f in findings(merged)] == ["gradients-not-reduced"] and merged.fact("ranks_merged")["ranks"] == 2
    shown = subprocess.run([sys.executable, "-m", "whyloss", "health", "--json", str(tmp_path / "ledgers")], capture_output=True, text=True)
    found, = json.loads(shown.stdout)["between_ranks"]
    assert found["cause"] == "gradients-not-reduced" and found["location"].startswith("train.py:" if how == "outside" else "") and \
        "train.py:" in found["location"]
