"""Every fixture cut off, flipped and stuffed: runs whose arrays fit, or LogUnreadable; nothing else, and soon."""

import time
from pathlib import Path

import numpy as np
import pytest

from whyloss.errors import LogUnreadable
from whyloss.sources.readers import read_one

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

LOGS = Path(__file__).parent / "fixtures"
FILES = sorted(file for file in LOGS.rglob("*") if file.is_file() and file.name != "README.md" and "cut" not in file.parts)
BOUNDED = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)


def sound(file) -> None:
    """Reads a file; what comes back must fit together."""
    began = time.perf_counter()
    try:
        runs = read_one(file)
    except LogUnreadable as error:
        assert str(file) in str(error) or file.name in str(error)
        runs = []
    assert time.perf_counter() - began < 20
    for run in runs:
        assert all(isinstance(warning, str) for warning in run.warnings)
        for name, series in run.series.items():
            assert name == series.name and len(series) > 0
            for axis in (series.steps, series.values, series.epochs, series.seconds):
                assert axis is None or (axis.shape == series.values.shape and axis.dtype == np.float64)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(LOGS).as_posix())
def test_cut_flipped_or_stuffed(file, place):
    whole = file.read_bytes()

    @BOUNDED
    @given(st.integers(0, len(whole)), st.lists(st.tuples(st.integers(0, len(whole) - 1), st.integers(0, 255)), max_size=8), st.binary(max_size=60))
    def damaged(cut, flips, stuffed):
        content = bytearray(whole)
        for at, byte in flips:
            content[at] = byte
        content = content[:cut] + stuffed + (content[cut:] if len(stuffed) % 2 else b"")
        target = place / file.name
        target.write_bytes(content)
        sound(target)

    damaged()


@pytest.mark.parametrize(
    "name", ["x.csv", "x.tsv", "x.jsonl", "x.json", "trainer_state.json", "x.log", "x.wandb", "events.out.tfevents.1.a", "x.db", "x.parquet", "x"]
)
def test_any_bytes_under_any_name(name, place):
    alphabet = st.sampled_from(
        [
            b"step",
            b"epoch",
            b"loss",
            b",",
            b";",
            b"\n",
            b"\r",
            b'"',
            b"{",
            b"}",
            b"[",
            b"]",
            b":",
            b"0.5",
            b"1",
            b"nan",
            b"\0",
            b" ",
            b"\xff",
            b"/",
            b"%|",
            b"PAR1",
            b"SQLite format 3\0",
            b":W&B",
            b"\x1b[",
            b"'",
            b"-",
            b"e",
            b"#",
            b"1e999",
            b"9" * 400,
        ]
    )

    @BOUNDED
    @given(st.lists(alphabet | st.binary(max_size=6), max_size=60))
    def any_bytes(pieces):
        target = place / name
        target.write_bytes(b"".join(pieces))
        sound(target)

    any_bytes()


@pytest.mark.parametrize(
    "line",
    [
        b"a" * (1 << 22),
        b"a " * (1 << 21),
        b"1," * (1 << 21),
        b"{" * (1 << 20),
        b'"' * (1 << 20),
        b"loss: " * (1 << 19),
        b"(((((" * (1 << 19),
        b"1/" * (1 << 20),
        b"\x1b[" * (1 << 20),
        b"0.5%|" * (1 << 19),
    ],
    ids=range(10),
)
@pytest.mark.parametrize("name", ["x.log", "x.csv", "x.jsonl"])
def test_a_line_of_megabytes_is_no_hang(line, name, place):
    target = place / name
    target.write_bytes(b"step,loss\n1,0.5\n" + line + b"\nstep 2 loss 0.4\n")

    sound(target)


def test_a_damaged_parquet_file_is_refused_without_a_trace(place, capfd):
    pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(
        pa.table({"step": list(range(50)), "loss": [1 / (1 + i) for i in range(50)]}), place / "whole.parquet"
    )
    whole = (place / "whole.parquet").read_bytes()

    @settings(BOUNDED, max_examples=60)
    @given(st.integers(0, len(whole)), st.lists(st.tuples(st.integers(0, len(whole) - 1), st.integers(0, 255)), max_size=5))
    def damaged(cut, flips):
        content = bytearray(whole)
        for at, byte in flips:
            content[at] = byte
        (place / "x.parquet").write_bytes(content[:cut] if cut % 2 else content)
        sound(place / "x.parquet")

    damaged()
    assert capfd.readouterr().err == ""
