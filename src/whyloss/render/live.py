"""The live page and what it is sent: the report's pictures, drawn from a run that goes on. Every text is escaped on its way."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

from whyloss.quantities import QUANTITIES
from whyloss.render import svg, words
from whyloss.render.chart import use_log
from whyloss.render.figures import Figure, figures
from whyloss.render.html import data_of, digest, environment, script
from whyloss.report import Report

_FOLDER = Path(__file__).parent


def dumps(data) -> str:
    """Strict JSON in ASCII, on one line: it fits into a line of an event stream."""
    return json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


# ---------------------------------------------------------------------- the table of runs and what was told
def row(id: str, name: str, condition, *, step, loss, sketch, version: int, alerts: int, ranks: int) -> dict:
    """A run in one line. loss: its first and last value, or None; sketch: its curve in few values; version: of its pictures."""
    return {"id": id, "name": words.one_line(name), "kind": condition.kind, "words": words.one_line(condition.words), "wrote": condition.wrote,
            "began": condition.began,
            "step": step, "first": words.number(loss[0]) if loss else "", "last": words.number(loss[1]) if loss else "",
            "spark": svg.spark(sketch), "version": version, "alerts": alerts, "ranks": ranks}


def alert(number: int, id: str, name: str, event: dict, message: str, is_alert: bool) -> dict:
    """Something a run told. is_alert: a fault it saw; else a fact, as that it was resumed"""
    data = event["data"] if isinstance(event["data"], dict) else {}
    return {"number": number, "id": id, "name": words.one_line(name), "step": event["step"], "kind": words.one_line(event["kind"]),
            "unix": event.get("unix"), "message": words.one_line(message), "expected": words.one_line(data.get("expected") or ""), "alert": is_alert}


# ---------------------------------------------------------------------- pictures
def _figures(grids, curves, marks=()) -> dict[str, Figure]:
    made = figures(Report("undetermined", grids=tuple(grids), curves=tuple(curves)))
    if "loss" in made:
        made["loss"] = replace(made["loss"], events=tuple(marks))
    return made


def pictures(grids, curves, marks, id: str, name: str) -> list[dict]:
    """The report's figures of one run: what the script draws, and the HTML around it. marks: (step, kind) of its alerts."""
    page = _template("figure.html.j2")
    found = []
    for figure in _figures(grids, curves, marks).values():
        html = page.picture(figure, None, _Ends(figure) if figure.heat else None, (), (), f"{figure.name}-{id}", words.one_line(name))
        found.append({**data_of(figure), "html": str(html)})
    return found


class _Ends:
    """Of a heat map only what its scale of colours says."""

    def __init__(self, figure: Figure):
        self.ends = tuple(map(words.number, figure.heat.reach))


def numbers(grids, curves, name: str) -> str | None:
    """The table behind the figure `name`; None where there is no such figure."""
    figure = _figures(grids, curves).get(name)
    return str(_template("figure.html.j2").numbers(*figure.table)) if figure else None


def _overlay(curves) -> Figure:
    """curves: (name, steps, values) of each run"""
    values = [value for _, _, values in curves for value in values]
    known = QUANTITIES["loss"]
    return Figure("loss", known.name, known.unit, known.definition, "One curve a run.",
                  curves={words.one_line(name): (steps, values) for name, steps, values in curves}, log_y=use_log(values))


def together(curves) -> str:
    """The losses of several runs as one table."""
    return str(_template("figure.html.j2").numbers(*_overlay(curves).table)) if curves else ""


# ---------------------------------------------------------------------- the page
@cache
def _template(name: str):
    return environment()[0].get_template(name).module


@cache
def page() -> tuple[str, str]:
    """(the page, its Content-Security-Policy). The same for everyone: what is to be seen comes in the stream of events."""
    made, style, _ = environment()
    style += (_FOLDER / "live.css").read_text(encoding="utf-8")
    code = script("live.js")
    policy = (f"default-src 'none'; style-src 'sha256-{digest(style)}'; script-src 'sha256-{digest(code)}'; connect-src 'self'; img-src data:; "
              "base-uri 'none'; form-action 'none'; frame-ancestors 'self'")
    return made.get_template("live.html.j2").render(style=style, script=code, overlay=_overlay([])) + "\n", policy
