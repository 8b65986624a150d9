"""A report that whyloss wrote as JSON: the curves it holds."""

import json
import math

from whyloss.errors import LogUnreadable, NothingLogged
from whyloss.logged import LoggedRun
from whyloss.sources.readers import jsonl, opened
from whyloss.sources.readers.points import Points
from whyloss.sources.readers.table import to_number

FORMAT = "whyloss report"


def recognises(path, head: bytes) -> bool:
    return head.lstrip().startswith(b"{") and b'"schema"' in head and b'"verdict"' in head


def read(path, *, columns=None) -> list[LoggedRun]:
    try:
        report = json.loads(opened.document(path))
    except jsonl.PROBLEMS as error:
        raise LogUnreadable(f"{path}: line {getattr(error, 'lineno', 1)}: not JSON: {getattr(error, 'msg', str(error)[:100])}") from None
    curves = report.get("curves") if isinstance(report, dict) else None
    runs: dict[str, Points] = {}
    for curve in curves if isinstance(curves, list) else ():
        points = curve.get("points") if isinstance(curve, dict) else None
        if not isinstance(points, dict) or not isinstance(points.get("values"), list):
            continue
        values = points["values"]
        steps = points["steps"] if isinstance(points.get("steps"), list) and len(points["steps"]) == len(values) else range(len(values))
        for step, value in zip(steps, values):
            number = math.nan if value is None or isinstance(value, (list, dict)) else to_number(value)  # JSON has no NaN
            place = None if isinstance(step, (list, dict)) or step is None else to_number(step)
            if number is not None and place is not None:
                runs.setdefault(str(curve.get("run", "main")), Points()).add(str(curve.get("series", "loss")), place, number)
    if not runs:
        raise NothingLogged(f"{path}: a report without the points of any curve")
    return [points.run(opened.name_of(path) + (f"#{run}" if len(runs) > 1 else ""), FORMAT, (path,), columns=columns) for run, points in runs.items()]
