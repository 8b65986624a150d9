"""Readings as strict JSON: {"schema", "runs": [...], "shown": [...], "findings": [...], "refused": [...]}."""

from dataclasses import asdict

from whyloss.render.json import dumps
from whyloss.render.reading.words import Readings, verdict

SCHEMA = "whyloss-reading-1"


def render(readings: Readings) -> str:
    """One run: its reading in full. Many: a row each; what was found across them; what could not be read."""
    many = readings.many
    rows = [{k: v for k, v in asdict(row).items() if k != "sketch"} | {"verdict": verdict(row), "broken": row.broken, "since": row.since}
            for row in many.table()]
    return dumps({
        "schema": SCHEMA, "runs": rows, "shown": [reading.as_dict() | {"verdict": verdict(reading)} for reading in readings.shown],
        "findings": many.lines() if len(rows) > 1 else [], "refused": [{"path": path, "why": why} for path, why in many.refused],
    }) + "\n"
