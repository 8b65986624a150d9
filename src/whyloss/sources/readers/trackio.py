"""trackio's SQLite files: one row a step, the metrics as JSON in which NaN is text."""

import json

from whyloss.errors import NothingLogged
from whyloss.logged import LoggedRun
from whyloss.sources.readers import database, jsonl, moments
from whyloss.sources.readers import opened as files
from whyloss.sources.readers.table import Rows, runs_of

FORMAT = "trackio"


def recognises(path, head: bytes) -> bool:
    return head.startswith(database.MAGIC) and {"run_name", "step", "metrics"} <= database.columns_of(path).get("metrics", set())


def read(path, *, columns=None) -> list[LoggedRun]:
    tables = database.columns_of(path)
    by_id = "run_id" in tables.get("metrics", set())
    key = "run_id" if by_id else "run_name"
    runs = []
    with database.opened(path) as base:
        settings = {}
        if key in tables.get("configs", set()):
            for run, config in base.execute(f"SELECT {key}, config FROM configs"):
                settings[run] = {k: v for k, v in _object(config).items() if not k.startswith("_")}
        for run, name in base.execute(f"SELECT {key}, run_name FROM metrics GROUP BY {key} ORDER BY min(rowid)").fetchall():
            rows, bad = Rows(), 0
            for step, stamp, told in base.execute(f"SELECT step, timestamp, metrics FROM metrics WHERE {key} = ? ORDER BY rowid", (run,)):
                cells = _object(told)
                bad += not cells
                rows.add({**cells, "global_step": step, "wall_time": moments.seconds(str(stamp))})
            warnings = [f"{path}: {bad} rows of run {name} hold no metrics"] if bad else []
            table = rows.table(settings=jsonl.simple(settings.get(run, {})), warnings=warnings)
            runs += runs_of(table, f"{files.name_of(path)}#{name}", FORMAT, columns=columns, files=(path,))
    runs = [run for run in runs if run.series]
    if not runs:
        raise NothingLogged(f"{path}: a trackio store without any logged metric")
    return runs


def _object(told) -> dict:
    try:
        return jsonl.flat(json.loads(told))
    except (*jsonl.PROBLEMS, TypeError):
        return {}
