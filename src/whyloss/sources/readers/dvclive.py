"""DVCLive's folder: one TSV for each metric under `plots/metrics`, the parameters in `params.yaml`."""

import os
from pathlib import Path

from whyloss.errors import LogUnreadable, NothingLogged
from whyloss.logged import LoggedRun
from whyloss.sources.readers import delimited, opened, settings_beside

FORMAT = "DVCLive"
_PLOTS = ("plots", "metrics"), ("scalars",)  # since version 2, before


def recognises(path, head: bytes) -> bool:
    return os.path.isdir(path) and any(_files(path, place) for place in _PLOTS)


def _files(path, place) -> list[Path]:
    folder = Path(path, *place)
    if not folder.is_dir() or (place == ("scalars",) and not Path(path, "metrics.json").is_file()):
        return []
    return sorted(folder.rglob("*.tsv"))


def read(path, *, columns=None) -> list[LoggedRun]:
    run = LoggedRun(opened.name_of(path), FORMAT)
    for place in _PLOTS:
        for file in _files(path, place):
            name = file.relative_to(Path(path, *place)).with_suffix("").as_posix()
            if columns is not None and name not in columns:
                continue
            run.files = (*run.files, file)
            try:
                part = delimited.read(file)[0]
            except NothingLogged:
                continue
            except LogUnreadable as error:
                run.warnings.append(str(error))
                continue
            run.warnings += part.warnings
            for series in part.series.values():  # one column, named as the file's last part
                run.series[name] = type(series)(name, series.steps, series.values, series.step_unit, series.epochs, series.seconds)
    for file in (Path(path, "params.yaml"), Path(path, "params.json")):
        run.settings.update(settings_beside.of_file(file))
    if not run.series:
        raise NothingLogged(f"{path}: a DVCLive folder without any logged metric" + (f"; {run.warnings[0]}" if run.warnings else ""))
    return [run]
