"""The report as one HTML file that needs nothing else: no network, light and dark, printable. Its one script is allowed by its hash."""

import base64
import hashlib
import json
import math
from functools import cache
from pathlib import Path

from whyloss.render import svg, words
from whyloss.render.figures import Figure, figures
from whyloss.render.remedy import diff
from whyloss.render.source import excerpt
from whyloss.render.terminal import COLUMNS, first_last
from whyloss.report import Report

_FOLDER = Path(__file__).parent


def digest(text: str) -> str:
    """Of a style or script, as a Content-Security-Policy names it."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _curve_chart(curve) -> svg.Chart | None:
    steps = curve.steps if len(curve.steps) == len(curve.values) else range(len(curve.values))
    return svg.chart({curve.series: (steps, curve.values)}, first_colour=2)


def environment():
    """(Jinja environment, page style, its digest for the policy). Every text goes through autoescape."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    style = (_FOLDER / "page.css").read_text(encoding="utf-8") + (_FOLDER / "uplot" / "uPlot.min.css").read_text(encoding="utf-8")
    made = Environment(loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters["plain"] = words.plain
    made.filters["number"] = words.number
    return made, style, digest(style)


@cache
def script(page: str = "page.js") -> str:
    """The chart library, what draws figures with it, and a page's own part, as one script."""
    return "".join((_FOLDER / name).read_text(encoding="utf-8") for name in ("uplot/uPlot.iife.min.js", "charts.js", page))


def _still(figure: Figure) -> svg.Chart | None:
    """The drawing that stands where no script runs, and on paper."""
    if figure.curves is None:
        return None
    return svg.chart(figure.curves, first_colour=0 if figure.ordered else figure.first_colour, log_x=figure.log_x, log_y=figure.log_y,
                     guides=figure.guides, names=figure.ticks)


def _cells(figure: Figure) -> svg.Cells | None:
    return svg.heat(figure.heat) if figure.heat else None


def _value(value, *, log: bool = False, missing=None):
    """A number for the script: null where it is not finite or, on a log axis, not positive."""
    if value is None:
        return missing
    if not isinstance(value, (int, float)) or not math.isfinite(value) or log and value <= 0:
        return None
    return float(f"{value:.4g}") if isinstance(value, float) else value


def data_of(figure: Figure) -> dict:
    """What the script needs of one figure."""
    curves = []
    for label, (xs, ys) in (figure.curves or {}).items():
        points = [(x, _value(y, log=figure.log_y)) for x, y in zip(xs, ys) if isinstance(x, (int, float)) and math.isfinite(x)]
        curves.append({"label": words.plain(label), "x": [x for x, _ in points], "y": [y for _, y in points]})
    made = {"name": figure.name, "x_name": figure.x_name, "curves": curves, "log_x": figure.log_x, "log_y": figure.log_y, "ordered": figure.ordered,
            "share": figure.unit.startswith("share"), "ticks": list(map(words.plain, figure.ticks)), "guides": figure.guides,
            "events": [(x, words.plain(text)) for x, text in figure.events],
            "bands": [(a, b, words.plain(name)) for a, b, name in figure.bands], "first_colour": 0 if figure.ordered else figure.first_colour}
    if figure.heat:
        low, high = figure.heat.reach
        made["heat"] = {"rows": list(map(words.plain, figure.heat.rows)), "columns": list(figure.heat.columns), "low": low, "high": high,
                        "log": figure.heat.log, "cells": [[_value(v, missing="?") for v in row] for row in figure.heat.cells]}
    return made


def embedded(data) -> str:
    """JSON that cannot end the element it stands in, nor begin another."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def render(report: Report) -> str:
    """The whole page; the policy forbids network, foreign styles, and every script but this one."""
    from markupsafe import Markup

    made, style, style_digest = environment()
    columns = [(key, name) for key, name in COLUMNS if any(x.values.get(key) is not None for x in report.layers)]
    principal = report.findings[0] if report.findings and report.findings[0].status != "note" else None
    drawn = figures(report)
    page = made.get_template("page.html.j2")
    return page.render(report=report, words=words, style=style, digest=style_digest, principal=principal,
                       others=[f for f in report.findings if f is not principal], columns=columns,
                       excerpt=excerpt, first_last=first_last, curve_chart=_curve_chart, diff=diff, figures=drawn, still=_still, cells=_cells,
                       data=Markup(embedded([data_of(figure) for figure in drawn.values()])), script=script(), script_digest=digest(script()),
                       symbol={"fault": "✗", "healthy": "✓"}.get(report.verdict, "?")) + "\n"
