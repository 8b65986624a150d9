"""Sparklines, character plots, SVG curves, excerpts of source and the result of an experiment."""

import io
import math

import pytest
from rich.console import Console

from whyloss.finding import Location, Trial
from whyloss.render import svg, trial, words
from whyloss.render.chart import plot, sparkline
from whyloss.render.source import excerpt


@pytest.mark.parametrize("values, shown", [
    ([], ""), ([1.0], "▅"), ([0.0, 1.0], "▁█"), ([1.0, math.nan, 0.0], "█×▁"), ([math.nan] * 3, "×××"),
    ([0.0, 0.0], "▅▅"),
    ([None, 1.0, 2.0], "×▁█")])
def test_a_sparkline_shows_each_value(values, shown):
    line = sparkline(values)

    assert len(line) == len(values)
    assert line == shown


def test_a_sparkline_keeps_noise_small_on_a_flat_curve():
    assert len(set(sparkline([2.30, 2.31, 2.305, 2.302]))) == 1


def test_a_sparkline_is_thinned_to_its_width():
    assert len(sparkline(range(1000), 40)) == 40


def test_a_plot_labels_curves_at_their_ends():
    rows = plot({"down": ([0, 1], [1.0, 0.5]), "up": ([0, 1], [1.0, 1.5])}, height=5)

    assert rows[0].labels == (("up", 1),) and rows[-1].labels == (("down", 0),)


@pytest.mark.parametrize("ys", [[], [math.nan], [math.inf, -math.inf]])
def test_a_plot_of_nothing_is_nothing(ys):
    assert plot({"a": (range(len(ys)), ys)}) == [] and svg.chart({"a": (range(len(ys)), ys)}) is None


def test_svg_keeps_a_spike_among_many_points():
    ys = [0.0] * 100_000
    ys[54_321] = 9.0

    points = svg.extremes(range(100_000), ys)
    assert len(points) <= 800 and (54_321, 9.0) in points


def test_svg_cuts_the_line_at_non_finite_values():
    drawing = svg.chart({"loss": (range(5), [1.0, 2.0, math.nan, 1.0, 1.5])})

    assert len(drawing.curves[0].pieces) == 2 and drawing.gaps == 1


def test_an_excerpt_marks_its_line_and_drops_the_common_indent(tmp_path):
    file = tmp_path / "t.py"
    file.write_text("for x in y:\n    a = 1\n    loss.step()\x1b[2J\n\n    b = 2\n")

    assert excerpt(Location(str(file), 3), around=1) == [(2, "a = 1", False), (3, "loss.step()\\x1b[2J", True)]


@pytest.mark.parametrize("file, line", [("/no/such", 1), (".", 1), (__file__, 0), (__file__, 10**6), ("<stdin>", 1),
                                        ("a\0b", 1)])
def test_an_excerpt_of_what_cannot_be_read_is_empty(file, line):
    assert excerpt(Location(file, line)) == []


@pytest.mark.parametrize("value, shown", [(None, "-"), (3, "3"), (0.00030001, "0.0003"), (math.nan, "NaN"),
                                          (-math.inf, "-infinite"), (2.302585, "2.303"), (1e-9, "1e-09")])
def test_numbers_are_short(value, shown):
    assert words.number(value) == shown


def test_thinned_arms_still_reach_over_all_steps_of_the_experiment():
    steps, losses = words.arms(Trial("x", 2.0, 1.0, 301, True, "", {"before": [2.0] * 4, "after": []}))["unchanged"]

    assert list(steps) == [0, 100, 200, 300] and losses == [2.0] * 4


def test_an_experiment_without_arms_is_told_without_numbers():
    said = words.experiment(Trial("batch-dependence", math.nan, math.nan, 0, True, "sample 3 changed"))

    assert said == "sample 3 changed: it came out as the cause predicts."


def test_a_trial_shows_numbers_and_curves(expected):
    stream = io.StringIO()
    trial.show({"experiment": "range-test", "title": "which learning rates move the loss", "outcome": "healthy",
                "summary": "The loss falls fastest at 0.03.",
                "rows": [{"label": "suggested", "value": 0.03}, {"label": "in use", "value": 1e-07, "note": "group 0"}],
                "curves": {"loss": {"x": [10**(i / 5 - 6) for i in range(30)],
                                    "y": [2.3] * 15 + [2.3 - i / 7 for i in range(15)]}},
                "x_label": "learning rate", "y_label": "loss", "log_x": True}, Console(file=stream, width=80))

    expected(stream.getvalue(), "trial.txt")


def test_a_trial_with_nothing_but_a_name_is_shown():
    stream = io.StringIO()
    trial.show({"experiment": "x"}, Console(file=stream, width=80))

    assert "whyloss try x" in stream.getvalue()
