"""Many logs read elsewhere: on any executor with `submit`, shown with Dask's on two workers."""

import math
from concurrent.futures import ThreadPoolExecutor

import pytest

import whyloss
from whyloss.errors import LogUnreadable


def runs(folder, count=12):
    for at in range(count):
        bad = at % 3 == 0
        values = [2.3 + 0.01 * math.sin(5.0 * i + at) if bad else 2.3 * math.exp(-i / 12) + 0.01 * math.sin(3.0 * i + at) for i in range(80)]
        run = folder / f"run{at}"
        run.mkdir()
        (run / "log.csv").write_text("step,loss\n" + "".join(f"{i},{v}\n" for i, v in enumerate(values)))
    return folder


def rows(reading):
    return [(row.id, row.label) for row in reading.table()]


def test_an_executor_reads_what_this_process_reads(tmp_path):
    here = whyloss.read(runs(tmp_path))

    with ThreadPoolExecutor(2) as pool:
        there = whyloss.read(tmp_path, executor=pool)

    assert rows(here) == rows(there) and sum(row.broken for row in here.rows) == 4


@pytest.mark.filterwarnings("ignore")
def test_dask_reads_them_on_two_workers(tmp_path):
    distributed = pytest.importorskip("distributed")
    runs(tmp_path)

    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as cluster, \
            distributed.Client(cluster) as client:
        there = whyloss.read(tmp_path, executor=client.get_executor())

    assert rows(there) == rows(whyloss.read(tmp_path))


def test_one_log_gives_its_reading_and_nothing_gives_an_error(tmp_path):
    runs(tmp_path, 1)

    assert whyloss.read(tmp_path).label == "flat-from-start"
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(LogUnreadable, match="no training log"):
        whyloss.read(empty)
