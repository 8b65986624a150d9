"""The report as one HTML file that needs nothing else: no script, no network, light and dark, printable."""

import base64
import hashlib
from pathlib import Path

from whyloss.finding import Finding
from whyloss.render import svg, words
from whyloss.render.source import excerpt
from whyloss.render.terminal import COLUMNS, first_last
from whyloss.report import Report

_FOLDER = Path(__file__).parent


def _trial_chart(finding: Finding) -> svg.Chart | None:
    return svg.chart(words.arms(finding.trial)) if finding.trial else None


def _curve_chart(curve) -> svg.Chart | None:
    steps = curve.steps if len(curve.steps) == len(curve.values) else range(len(curve.values))
    return svg.chart({curve.series: (steps, curve.values)}, first_colour=2)


def environment():
    """(Jinja environment, page style, its digest for the policy). Every text goes through autoescape."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    style = (_FOLDER / "page.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    made = Environment(loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters["plain"] = words.plain
    made.filters["number"] = words.number
    return made, style, digest


def render(report: Report) -> str:
    """The whole page; the policy forbids scripts, network and foreign styles."""
    made, style, digest = environment()
    columns = [(key, name) for key, name in COLUMNS if any(x.values.get(key) is not None for x in report.layers)]
    principal = report.findings[0] if report.findings and report.findings[0].status != "note" else None
    page = made.get_template("page.html.j2")
    return page.render(report=report, words=words, style=style, digest=digest, principal=principal,
                       others=[f for f in report.findings if f is not principal], columns=columns,
                       excerpt=excerpt, first_last=first_last, trial_chart=_trial_chart, curve_chart=_curve_chart,
                       symbol={"fault": "✗", "healthy": "✓"}.get(report.verdict, "?")) + "\n"
