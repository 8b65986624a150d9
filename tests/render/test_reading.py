"""What a reading looks like: names are text everywhere, pictures keep spikes and gaps."""

import io

import numpy as np
from rich.console import Console

from whyloss.diagnosis.reading.many import ManyReading
from whyloss.diagnosis.reading.run import read_run
from whyloss.logged import LoggedRun, LoggedSeries
from whyloss.render.reading import html, json, markdown, terminal
from whyloss.render.reading import words as said

EVIL = "<script>alert(1)</script>"


def logged(values, name="loss", id="run.csv", **settings):
    steps = np.arange(len(values), dtype=float)
    return LoggedRun(id, "csv", (id,), {name: LoggedSeries(name, steps, np.asarray(values, float))}, settings)


def readings(*runs, shown=True):
    many, kept = ManyReading(), []
    for run in runs:
        reading = read_run(run)
        many.add(reading)
        kept.append(reading)
    return said.Readings(many, kept if shown else [])


def printed(found, width=100):
    console = Console(file=io.StringIO(), width=width, no_color=True, force_terminal=False)
    terminal.show(found, console)
    return console.file.getvalue()


FALL = 2 * np.exp(-np.arange(200) / 20)


def test_a_name_from_a_log_is_text_in_every_format():
    found = readings(logged(FALL, name=EVIL, id=EVIL), logged(FALL[::-1], name=EVIL, id=EVIL + "2"))

    assert EVIL not in html.render(found) and "&lt;script&gt;" in html.render(found)
    assert EVIL in printed(found).replace("\n", "") or EVIL[:20] in printed(found)
    assert "\x1b" not in printed(readings(logged(FALL, name="\x1b[31mred")))


def test_thinning_keeps_the_spike_the_gap_and_the_ends():
    values = np.ones(100_000)
    values[31_234], values[70_001] = 50.0, np.nan

    steps, kept = said.thinned(LoggedSeries("loss", np.arange(values.size, dtype=float), values))

    assert kept.size <= 3 * said.DRAWN and np.nanmax(kept) == 50.0 and np.isnan(kept).sum() == 1
    assert steps[0] < 400 and steps[-1] > 99_600 and np.all(np.diff(steps) > 0)


def test_the_table_leaves_out_the_common_folder_and_settings_that_are_all_alike():
    cells = said.table(readings(logged(FALL, id="runs/a/log.csv", lr=0.1, seed=3), logged(FALL * 2, id="runs/b/log.csv", lr=0.2, seed=3)).many)

    assert cells.under == "runs" and {texts[0] for _, texts in cells.rows} == {"a/log.csv", "b/log.csv"}
    assert all("lr=" in texts[4] and "seed" not in texts[4] for _, texts in cells.rows)


def test_the_segments_stand_under_the_picture_where_they_are():
    values = np.concatenate([np.linspace(3, 1, 100), np.full(100, 1.0)]) + 0.01 * np.sin(np.arange(200) * 2.3)
    reading, = readings(logged(values)).shown

    ruler = terminal.segments_ruler(reading, 0, 199, 60, True)

    assert len(ruler) == 60 and "falling" in ruler[:40] and "flat" in ruler[25:]


def test_json_of_infinite_values_is_strict():
    assert "NaN" not in json.render(readings(logged([1.0, 2.0, np.inf, np.nan] * 10))).replace('"NaN"', "")


def test_markdown_escapes_what_would_break_its_table():
    text = markdown.render(readings(logged(FALL, id="a|b.csv"), logged(FALL, id="c.csv")))

    assert "a\\|b.csv" in text
