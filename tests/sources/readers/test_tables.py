"""CSV as people and programs write it: dialects, headers, blanks, cuts, encodings."""

import gzip
import sys

import numpy as np
import pytest

from whyloss.errors import LogUnreadable, NothingLogged
from whyloss.sources.readers import read_one


def runs(tmp_path, content, name="log.csv"):
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_one(file)


def read(tmp_path, content, name="log.csv"):
    (run,) = runs(tmp_path, content, name)
    return run


def points(run, name="loss"):
    series = run.series[name]
    return dict(zip(series.steps.tolist(), series.values.tolist()))


@pytest.mark.parametrize(
    "content",
    [
        "epoch,loss,acc\n1,0.5,0.1\n2,0.25,0.2\n",
        "epoch;loss;acc\n1;0,5;0,1\n2;0,25;0,2\n",
        "epoch\tloss\tacc\n1\t0.5\t0.1\n2\t0.25\t0.2\n",
        "   epoch,     loss,  acc\n      1,      0.5,  0.1\n      2,     0.25,  0.2\n",
        '"epoch","loss","acc"\n"1","0.5","0.1"\n"2","0.25","0.2"\n',
        "epoch|loss|acc\n1|0.5|0.1\n2|0.25|0.2\n",
        "\r\nepoch,loss,acc\r\n1,0.5,0.1\r\n2,0.25,0.2\r\n",
        "epoch,loss,acc\r1,0.5,0.1\r2,0.25,0.2\r",
        "sep=;\nepoch;loss;acc\n1;0.5;0.1\n2;0.25;0.2\n",
        "# a comment\nepoch,loss,acc\n1,0.5,0.1\n\n2,0.25,0.2\n",
        "epoch  loss  acc\n1  0.5   0.1\n2  0.25  0.2\n",
        "# epoch loss acc\n1 0.5 0.1\n2 0.25 0.2\n",
        "epoch,loss,acc\n1,5e-1,0.1\n2,25E-2,0.2",
        "Unnamed: 0,epoch,loss,acc\n0,1,0.5,0.1\n1,2,0.25,0.2\n",
        "epoch,loss,acc,\n1,0.5,0.1,\n2,0.25,0.2,\n",
    ],
    ids=range(15),
)
def test_a_dialect_is_told_from_the_lines(tmp_path, content):
    run = read(tmp_path, content)

    assert (points(run), points(run, "acc")) == ({1: 0.5, 2: 0.25}, {1: 0.1, 2: 0.2}) and run.series["loss"].step_unit == "epoch"
    assert run.warnings == [] and set(run.series) == {"loss", "acc"}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
def test_other_encodings_are_read(tmp_path, encoding):
    run = read(tmp_path, "epoch,loss,Güte\n1,0.5,0.1\n2,0.25,0.2\n".encode(encoding))

    assert points(run, "Güte") == {1: 0.1, 2: 0.2} and points(run) == {1: 0.5, 2: 0.25}


@pytest.mark.parametrize("suffix, pack", [(".gz", gzip.compress), (".bz2", __import__("bz2").compress), (".xz", __import__("lzma").compress)])
def test_packed_files_are_unpacked_and_a_torn_one_gives_what_there_is(tmp_path, suffix, pack):
    content = b"epoch,loss\n" + b"".join(b"%d,%.9f\n" % (i, np.sin(i)) for i in range(30000))
    packed = pack(content)

    assert len(read(tmp_path, packed, "log.csv" + suffix).series["loss"]) == 30000
    if suffix == ".gz":
        torn = read(tmp_path, packed[: len(packed) // 2], "torn.csv" + suffix)
        assert 1000 < len(torn.series["loss"]) < 30000 and "breaks off" in torn.warnings[0]


def test_what_unpacks_without_end_is_refused(tmp_path, monkeypatch):
    from whyloss.sources.readers import opened

    monkeypatch.setattr(opened, "BOMB", (1 << 22, 20))
    with pytest.raises(LogUnreadable, match="unpacks to more than 4 MiB"):
        runs(tmp_path, gzip.compress(b"epoch,loss\n" + b"1,0.5\n" * 3_000_000), "bomb.csv.gz")


def test_nan_is_a_point_and_a_blank_cell_is_none(tmp_path):
    run = read(tmp_path, 'epoch,a,b\n1,nan,\n2,"NaN",1\n3,,None\n4,-inf,null\n5,Infinity,3\n')

    np.testing.assert_equal(points(run, "a"), {1: np.nan, 2: np.nan, 4: -np.inf, 5: np.inf})
    assert points(run, "b") == {2: 1, 5: 3}


def test_a_header_in_mid_file_is_no_row_and_may_change_the_columns(tmp_path):
    run = read(tmp_path, "step,loss\n1,0.5\n2,0.4\nstep,loss\n3,0.3\nloss,step,reg\n0.2,4,7\n")

    assert points(run) == {1: 0.5, 2: 0.4, 3: 0.3, 4: 0.2} and points(run, "reg") == {4: 7}
    assert run.warnings == [f"{tmp_path / 'log.csv'}: line 6: another header, of 3 columns after 2"]


@pytest.mark.parametrize(
    "tail, kept, said",
    [
        ("3", {1, 2}, "line 4: the last line is cut off"),
        ("3,0.", {1, 2}, "the last cell is cut off"),
        ("3,1e-", {1, 2}, "the last cell is cut off"),
        ("3,0", {1, 2}, "the last cell is cut off"),
        ("3,0.123456", {1, 2, 3}, None),
        ("3,0.123456\n", {1, 2, 3}, None),
        ("3,nan", {1, 2, 3}, None),
    ],
)
def test_a_cut_off_last_line_is_left_out_and_a_whole_one_is_not(tmp_path, tail, kept, said):
    run = read(tmp_path, "epoch,loss\n1,0.512345\n2,0.412345\n" + tail)

    assert set(points(run)) == kept
    assert (said is None and not run.warnings) or (said in run.warnings[0] and "log.csv" in run.warnings[0])


def test_lines_of_other_lengths_are_kept_and_named(tmp_path):
    run = read(tmp_path, "step,loss,reg\n1,0.5,1\n2,0.4\n3,0.3,1,9\n4,0.2,1\n")

    assert points(run) == {1: 0.5, 2: 0.4, 3: 0.3, 4: 0.2} and "2 lines have another number of cells than the header (lines 3, 4)" in run.warnings[0]


def test_without_a_header_columns_are_numbered(tmp_path):
    assert points(read(tmp_path, "0.5,9\n0.4,8\n"), "column1") == {0: 0.5, 1: 0.4}
    assert read(tmp_path, "0.5\n0.4\n").series["column1"].step_unit == "row"


def test_text_is_a_setting_where_it_is_constant_and_is_left_out_where_not(tmp_path):
    run = read(tmp_path, "epoch,loss,optimizer,note,time\n1,0.5,adam,a,2026-01-05 12:00:00\n2,0.4,adam,b,2026-01-05 12:01:00\n")

    assert run.settings == {"optimizer": "adam"} and set(run.series) == {"loss"} and "note (text" in run.warnings[0]
    assert np.diff(run.series["loss"].seconds).tolist() == [60]


def test_rows_of_phases_of_metrics_and_of_runs_are_taken_apart(tmp_path):
    phases = read(tmp_path, "epoch,phase,loss\n1,train,0.5\n1,val,0.6\n2,train,0.4\n2,val,0.5\n")
    long = read(tmp_path, "step,metric,value\n1,loss,0.5\n1,acc,0.1\n2,loss,0.4\n2,acc,0.2\n")
    two = runs(tmp_path, "run,step,loss\na,0,1\na,1,0.5\nb,0,2\nb,1,1.5\n")
    export = runs(
        tmp_path, "Step,x - loss,x - loss__MIN,x - loss__MAX,y - z - loss,y - z - loss__MIN,y - z - loss__MAX\n0,1,1,1,2,2,2\n9,0.5,0.5,0.5,,,\n"
    )

    assert (points(phases, "train/loss"), points(phases, "val/loss")) == ({1: 0.5, 2: 0.4}, {1: 0.6, 2: 0.5})
    assert (points(long), points(long, "acc")) == ({1: 0.5, 2: 0.4}, {1: 0.1, 2: 0.2})
    assert [run.id.rpartition("#")[2] for run in two] == ["a", "b"] and points(two[1]) == {0: 2, 1: 1.5}
    assert [(run.id.rpartition("#")[2], points(run)) for run in export] == [("x", {0: 1, 9: 0.5}), ("y - z", {0: 2})]
    assert {run.format for run in export} == {"W&B export"}


@pytest.mark.parametrize(
    "header, unit, steps",
    [
        ("epoch,step", "step", [0, 2]),
        ("epoch,trainer/global_step", "step", [0, 2]),
        ("x,iter", "iteration", [0, 2]),
        ("x,total timesteps", "step", [0, 2]),
        ("episode,reward", "episode", [1, 2]),
        ("Epoch,x", "epoch", [1, 2]),
        ("loss/epoch,x", "row", [0, 1]),
        ("time/iterations,time/total_timesteps", "step", [0, 2]),
    ],
)
def test_counters_are_steps_and_no_curves(tmp_path, header, unit, steps):
    series = read(tmp_path, header + ",loss\n1,0,0.5\n2,2,0.4\n").series

    assert series["loss"].step_unit == unit and series["loss"].steps.tolist() == steps


def test_a_counter_that_starts_again_in_each_epoch_is_counted_on(tmp_path):
    run = read(tmp_path, "epoch,iter,loss\n1,50,5\n1,100,4\n2,50,3\n2,100,2\n")

    assert run.series["loss"].steps.tolist() == [50, 100, 150, 200] and "counted on" in run.warnings[0]


def test_a_resumed_run_keeps_the_order_written(tmp_path):
    assert read(tmp_path, "step,loss\n1,5\n2,4\n3,3\n2,4.5\n3,3.5\n").series["loss"].steps.tolist() == [1, 2, 3, 2, 3]


def test_thousands_of_columns_are_read(tmp_path):
    width = 6000
    text = (
        "step,"
        + ",".join(f"grad/{i}" for i in range(width))
        + "\n"
        + "".join(f"{s}," + ",".join(f"{s}.5" for _ in range(width)) + "\n" for s in range(4))
    )

    run = read(tmp_path, text)

    assert len(run.series) == width and points(run, "grad/5999") == {0: 0.5, 1: 1.5, 2: 2.5, 3: 3.5}


@pytest.mark.parametrize("form", ["plain", "header again", "text", "decimal comma", "unended", "quoted"])
@pytest.mark.parametrize("polars", [True, False])
def test_a_long_file_is_read_alike_with_polars_and_without(tmp_path, monkeypatch, form, polars):
    if polars:
        pytest.importorskip("polars")
    else:
        monkeypatch.setitem(sys.modules, "polars", None)
    from whyloss.sources.readers import fast_table

    monkeypatch.setattr(fast_table, "LEAST", 1000)
    rows = [[str(i), repr(i / 7), repr(i / 3) if i % 10 == 0 else ""] for i in range(20000)]
    if form == "quoted":
        rows = [[f'"{cell}"' for cell in row] for row in rows]
    lines = ["step,loss,val", *map(",".join, rows)]
    if form == "header again":
        lines.insert(12345, lines[0])
    if form == "text":
        lines = [f"{line},{'name' if i == 0 else 'resnet'}" for i, line in enumerate(lines)]
    text = "\n".join(lines) + "\n" * (form != "unended")
    if form == "decimal comma":
        text = text.replace(",", ";").replace(".", ",")

    run = read(tmp_path, text)

    assert run.series["loss"].values.tolist() == [i / 7 for i in range(20000)] and run.series["loss"].steps[-1] == 19999
    assert run.series["val"].values.tolist() == [i / 3 for i in range(0, 20000, 10)] and run.series["val"].steps.tolist() == list(range(0, 20000, 10))
    assert (run.settings == {"name": "resnet"}) == (form == "text") and run.warnings == []


@pytest.mark.parametrize("installed", ["polars", "pyarrow"])
def test_parquet_is_read_with_either_library(tmp_path, monkeypatch, installed):
    pytest.importorskip(installed)
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")

    pa.parquet.write_table(pa.table({"step": [1, 2, 3], "loss": [0.5, float("nan"), None], "name": ["a", "a", "a"]}), tmp_path / "x.parquet")
    if installed == "pyarrow":
        monkeypatch.setitem(sys.modules, "polars", None)

    (run,) = read_one(tmp_path / "x.parquet")

    np.testing.assert_equal(points(run), {1: 0.5, 2: np.nan})
    assert run.settings == {"name": "a"} and run.format == "parquet"


def test_parquet_without_a_library_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(LogUnreadable, match=r"whyloss\[logs\]"):
        runs(tmp_path, b"PAR1" + bytes(100), "x.parquet")


@pytest.mark.parametrize(
    "content, error, said",
    [
        ("", NothingLogged, "empty"),
        ("epoch,loss\n", NothingLogged, "only a header"),
        (bytes(range(256)) * 9, LogUnreadable, "binary"),
        ("just a note\nof two lines, one comma\n", LogUnreadable, "line 1"),
        ("a,b\n1,2\n" + "x" * (17 << 20), LogUnreadable, "line 3 is longer than 16 MiB"),
    ],
)
def test_what_is_no_table_is_refused_with_file_and_line(tmp_path, content, error, said):
    with pytest.raises(error, match=said) as raised:
        runs(tmp_path, content)
    assert "log.csv" in str(raised.value)


def test_a_long_parquet_file_is_read_in_parts_as_it_is_in_one(tmp_path, monkeypatch):
    polars = pytest.importorskip("polars")
    from whyloss.sources.readers import parquet

    rows = range(5000)
    table = {"step": rows, "loss": [None if i % 7 == 0 else float("nan") if i % 5 == 0 else 1 / (1 + i) for i in rows]}
    table |= {"hits": [i if i % 3 == 0 else None for i in rows], "never": [None] * 5000}
    kinds = {"step": polars.Int64, "loss": polars.Float32, "hits": polars.UInt16, "never": polars.Float64}
    polars.DataFrame(table, schema=kinds).write_parquet(tmp_path / "x.parquet", row_group_size=700)
    (whole,) = read_one(tmp_path / "x.parquet")
    monkeypatch.setattr(parquet, "LONG", 1000)
    monkeypatch.setattr(parquet, "BATCH", 512)
    (parts,) = read_one(tmp_path / "x.parquet")

    assert list(parts.series) == list(whole.series) == ["loss", "hits"]
    for name, series in parts.series.items():
        np.testing.assert_array_equal(series.steps, whole.series[name].steps)
        np.testing.assert_array_equal(series.values, whole.series[name].values)
    assert len(parts.series["loss"]) == 5000 - 715 and np.isnan(parts.series["loss"].values).any()


def test_json_with_an_object_for_each_epoch(tmp_path):
    import json

    rows = {f"epoch_{i}": {"train": {"loss": 2 - 0.1 * i}, "valid": {"loss": 2.1 - 0.1 * i}, "lr": 0.1} for i in range(5)}
    (run,) = runs(tmp_path, json.dumps(rows).encode(), "history.json")
    assert run.series["train/loss"].steps.tolist() == [0, 1, 2, 3, 4] and run.series["train/loss"].step_unit == "epoch"
    assert run.series["valid/loss"].values[-1] == pytest.approx(1.7)
