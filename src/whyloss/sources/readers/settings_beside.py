"""The settings of a run from the small files beside its log: Lightning's hparams.yaml, Ultralytics' args.yaml, Hydra's and W&B's config.yaml, JSON.

Only what is needed of YAML: nested names, numbers, words, lists in a line. Never constructs an object.
"""

import json
import os
import re
from functools import lru_cache

from whyloss.sources.readers.jsonl import PROBLEMS, flat, simple

LARGEST = 1 << 18  # bytes: a larger file is no list of settings
NAMES = (
    "hparams.yaml", "args.yaml", "opt.yaml", "hyp.yaml", "config.yaml", "params.yaml", "params.json", "config.json", "args.json", "hparams.json",
    "variant.json", ".hydra/overrides.yaml", ".hydra/config.yaml", "files/config.yaml", "../hparams.yaml",
)


def of_folder(folder) -> dict:
    """The settings of the first file that has some, and no error if there is none."""
    return dict(_of_folder(os.fspath(folder)))


@lru_cache(maxsize=512)
def _of_folder(folder: str) -> tuple:
    for name in NAMES:
        found = of_file(os.path.join(folder, name))
        if found:
            return tuple(found.items())
    return ()


def of_file(path) -> dict:
    """name -> number or text; empty where the file is missing, too large or no list of settings."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > LARGEST:
            return {}
        with open(path, encoding="utf-8", errors="replace") as stream:
            told = stream.read()
    except OSError:
        return {}
    try:
        cells = flat(json.loads(told)) if str(path).endswith(".json") else _yaml(told)
    except PROBLEMS:
        return {}
    cells = {name.removesuffix("/value"): value for name, value in cells.items() if isinstance(value, (str, int, float)) and name}
    return dict(list(simple(cells).items())[:500])


def _yaml(told: str) -> dict:
    cells, above = {}, []  # above: (indentation, name) of the objects a line lies in
    for line in told.splitlines():
        override = re.fullmatch(r"-\s+([\w./@+~-]+)=(.*)", line)
        if override:  # Hydra's overrides: the settings that differ
            cells[override[1].lstrip("+~").replace(".", "/")] = _scalar(override[2])
            continue
        found = re.fullmatch(r"(\s*)(?:- )?(['\"]?)([\w][\w ./@()+-]*)\2:(?:\s+(.*))?", line.rstrip())
        if found is None:
            continue
        depth, name, value = len(found[1]), found[3], found[4] or ""
        while above and above[-1][0] >= depth:
            above.pop()
        value = re.sub(r"\s+#.*$", "", value).strip()
        if not value or value.startswith(("!!", "&", "|", ">")):
            above.append((depth, name))
        else:
            cells["/".join([*(each for _, each in above), name])] = _scalar(value)
    return cells


def _scalar(value: str):
    value = value.strip().strip("'\"")
    return value[:500]
