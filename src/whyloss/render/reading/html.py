"""Readings as one HTML file that needs nothing else: pictures of the curves, the table of runs. No script, no network."""

from whyloss.render import svg
from whyloss.render import words as plain_words
from whyloss.render.html import environment
from whyloss.render.reading import words as said


def _charts(reading) -> list[tuple[svg.Chart, str]]:
    """(drawing, caption) of every picture that has a point."""
    found = []
    for drawn in said.pictures(reading):
        chart = svg.chart({name: (xs.tolist(), ys.tolist()) for name, (xs, ys) in drawn.items()})
        if chart is not None:
            found.append((chart, f"{', '.join(drawn)} over {reading.step_unit}."))
    return found


def render(readings: said.Readings) -> str:
    """The whole page; every text goes through autoescape, the policy forbids scripts, network and foreign styles."""
    made, style, digest = environment()
    page = made.get_template("reading.html.j2")
    cells = said.table(readings.many) if len(readings.many.rows) > 1 else None
    return page.render(readings=readings, cells=cells, said=said, words=plain_words, style=style, digest=digest, charts=_charts, spark=svg.spark,
                       symbol={"fault": "✗", "healthy": "✓", "undetermined": "?"}) + "\n"
