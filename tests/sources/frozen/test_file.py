"""The file of a frozen step: evidence comes back as it was, half a file is never left, what it needs is on the CPU."""

import math

import pytest
import torch

from whyloss.errors import BadInput, CannotReplay
from whyloss.evidence import Evidence
from whyloss.observation import Run
from whyloss.sources.frozen import file
from whyloss.sources.frozen.reading import OnCpu, thaw


def seen():
    evidence = Evidence()
    evidence.add_run(Run("main", "watched", settings={"torch": "2"}))
    evidence.add("loss", math.nan, step=3)
    evidence.add("fact", {"shape": (2, (3,)), 4: [True, None], "name": "a"}, subject="train.py:3", step=4)
    return evidence


def test_evidence_comes_back_as_it_was(tmp_path):
    file.write(tmp_path / "a.whyloss", {"step": 3, "problem": "none was captured"}, seen(), {"texts": {}}, {})
    saved = file.read(tmp_path / "a.whyloss")

    assert math.isnan(saved.evidence.series("loss").first.value) and saved.evidence.series("loss").steps == [3]
    assert saved.evidence.fact("fact", "train.py:3") == {"shape": (2, (3,)), 4: [True, None], "name": "a"}
    assert saved.evidence.runs["main"].settings == {"torch": "2"}
    assert saved.about["step"] == 3 and not saved.whole


def test_renewed_evidence_leaves_the_rest_as_it_was(tmp_path):
    path = tmp_path / "a.whyloss"
    file.write(path, {}, seen(), {"texts": {"t.py": "x = 1"}}, {"step.pickle": b"bytes"})
    more = seen()
    more.add("loss", 1.0, step=9)
    file.renew(path, more)

    saved = file.read(path)
    assert saved.evidence.series("loss").steps == [3, 9]
    assert saved.part("step.pickle") == b"bytes" and saved.sources["texts"] == {"t.py": "x = 1"}
    assert [p.name for p in tmp_path.iterdir()] == ["a.whyloss"]


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(OSError):
        file.write(tmp_path / "taken" / "a.whyloss", {}, seen(), {}, {})
    assert [p.name for p in tmp_path.iterdir()] == ["taken"]


def test_a_later_format_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(file, "FORMAT", 2)
    file.write(tmp_path / "a.whyloss", {}, seen(), {}, {})
    monkeypatch.setattr(file, "FORMAT", 1)
    with pytest.raises(BadInput, match="newer"):
        file.read(tmp_path / "a.whyloss")


def test_a_damaged_step_says_that_it_cannot_be_loaded(tmp_path):
    parts = dict.fromkeys(("tensors.pt", "step.pickle", "names.pickle"), b"")
    file.write(tmp_path / "a.whyloss", {}, seen(), {"texts": {}, "defined": {}, "modules": {}}, parts)
    with pytest.raises(CannotReplay, match="cannot be loaded"):
        thaw(file.read(tmp_path / "a.whyloss"))


def test_what_asks_for_another_device_runs_on_this_cpu():
    x = torch.ones(2)
    with OnCpu():
        assert x.to("cuda:0").device.type == "cpu"
        assert x.cuda() is x
        assert torch.zeros(3, device=torch.device("cuda")).device.type == "cpu"
        assert x.to(device="cuda", dtype=torch.float64).dtype is torch.float64
