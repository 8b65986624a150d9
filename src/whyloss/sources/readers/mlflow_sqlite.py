"""MLflow's SQLite store (`mlflow.db`). NaN is stored as 0 with a flag, infinity as the largest number: both come back as what was logged."""

import math

from whyloss.errors import NothingLogged
from whyloss.logged import LoggedRun
from whyloss.sources.readers import database
from whyloss.sources.readers import opened as files
from whyloss.sources.readers.jsonl import simple
from whyloss.sources.readers.points import Points

FORMAT = "MLflow SQLite"
LARGEST = 1.7976931348623157e308


def recognises(path, head: bytes) -> bool:
    if not head.startswith(database.MAGIC):
        return False
    tables = database.columns_of(path)
    return {"key", "value", "step", "run_uuid"} <= tables.get("metrics", set()) and "runs" in tables


def read(path, *, columns=None) -> list[LoggedRun]:
    runs = []
    with database.opened(path) as base:
        known = base.execute("SELECT run_uuid, name, lifecycle_stage FROM runs ORDER BY start_time, rowid").fetchall()
        names = [name for _, name, _ in known]
        for uuid, name, stage in known:
            points = Points()
            # the row number is the order of writing; times have ties
            for key, value, stamp, step, is_nan in base.execute(
                "SELECT key, value, timestamp, step, is_nan FROM metrics WHERE run_uuid = ? ORDER BY rowid", (uuid,)
            ):
                points.add(str(key), float(step or 0), _value(float(value), is_nan), float(stamp or 0) / 1000)
            if not points or stage == "deleted":
                continue
            settings = simple(dict(base.execute("SELECT key, value FROM params WHERE run_uuid = ?", (uuid,)).fetchall()))
            told = name if name and names.count(name) == 1 else f"{name or 'run'}-{str(uuid)[:8]}"
            runs.append(points.run(f"{files.name_of(path)}#{told}", FORMAT, (path,), settings=settings, columns=columns))
    if not runs:
        raise NothingLogged(f"{path}: an MLflow store without any logged metric")
    return runs


def _value(value: float, is_nan) -> float:
    if is_nan:
        return math.nan
    return math.copysign(math.inf, value) if abs(value) >= LARGEST else value
