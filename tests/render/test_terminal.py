"""The terminal text, against expected files; and what must hold for every report."""

import io

import pytest
from reports import HOSTILE, REPORTS, STALE
from rich.console import Console

from whyloss.render.terminal import first_last, show


def text(report, width=80, encoding="utf-8", **options):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="backslashreplace", newline="\n")
    show(report, Console(file=stream, width=width, **options.pop("console", {})), **options)
    stream.flush()
    return stream.buffer.getvalue().decode(encoding)


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("width", [80, 120])
def test_looks_as_expected(name, width, expected):
    expected(text(REPORTS[name], width, layers=True), f"{name}_{width}.txt")


def test_is_ascii_where_the_stream_is(expected):
    shown = text(STALE, encoding="ascii", layers=True)

    assert shown.isascii() and "\\u" not in shown
    expected(shown, "stale_ascii.txt")


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("width", [40, 80, 120, 300])
def test_never_runs_over_the_edge_nor_trails_blanks(name, width):
    lines = text(REPORTS[name], width, layers=True).split("\n")

    assert max(map(len, lines)) <= width
    assert all(line == line.rstrip() for line in lines)


def test_lets_no_user_string_steer_the_terminal():
    shown = text(HOSTILE)

    assert "\x1b" not in shown and "\u202e" not in shown
    assert "[bold]layer[/bold]" in shown and ":smiley:" in shown


def test_colours_nothing_where_colour_is_unwanted(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    shown = text(STALE, console={"force_terminal": True})

    assert "\x1b[31m" not in shown and "\x1b[32m" not in shown


def test_shows_layers_only_when_asked():
    assert "layers.0" not in text(STALE) and "layers.0" in text(STALE, layers=True)


@pytest.mark.parametrize("value, shown", [(None, "-"), ([0.5, 0.25], "0.5→0.25"), ([1.0, 1.0], "1"), (0.123456, "0.12"),
                                          ({"first": 1, "last": None}, "1→-"), ([float("nan"), 2.0], "nan→2")])
def test_writes_first_and_last(value, shown):
    assert first_last(value, "→") == shown
