"""What looks like a log and is not read: pickles (loading one runs its code), stores that only their own program reads.

Says what to export instead.
"""

import os

from whyloss.errors import LogUnreadable
from whyloss.logged import LoggedRun
from whyloss.sources.readers import opened

FORMAT = "refused"
_PICKLES = ".pkl", ".pickle", ".p", ".joblib", ".dill", ".pt", ".pth", ".ckpt", ".bin", ".npy", ".npz"
_ADVICE = {
    "pickle": "a pickle runs code when it is loaded, so whyloss does not: save the history as JSON or CSV, as in json.dump(history.history, file)",
    "torch": "a checkpoint, not a log: give the CSV, JSON, event file or printed output of the run",
    "aim": 'Aim\'s store is read by Aim only: export it with `aim runs` and Run.dataframe().to_csv("run.csv"), and read that',
    "archive": "an archive: unpack it and give the folder",
    "excel": "a spreadsheet: save it as CSV",
    "numpy": "a NumPy array without names: save it as CSV with a header",
    "hdf5": "HDF5 is not read: save the history as JSON or CSV",
    "netron": "a Neptune or ClearML store is read by its own program only: export the run as CSV",
}


def recognises(path, head: bytes) -> bool:
    return _kind(path, head) is not None


def read(path, *, columns=None) -> list[LoggedRun]:
    kind = _kind(path, b"" if os.path.isdir(path) else opened.head(path, 512))
    raise LogUnreadable(f"{path}: {_ADVICE[kind or 'pickle']}")


def _kind(path, head: bytes) -> str | None:
    name = opened.plain_name(path)
    if os.path.isdir(path):
        if os.path.isdir(os.path.join(path, ".aim")) or name == ".aim":
            return "aim"
        return "netron" if name in (".neptune",) else None
    suffix = os.path.splitext(name)[1]
    if head.startswith(b"\x93NUMPY"):
        return "numpy"
    if head.startswith(b"\x89HDF"):
        return "hdf5"
    if head.startswith(b"PK\x03\x04"):
        return (
            "excel"
            if suffix in (".xlsx", ".xlsm")
            else "torch"
            if suffix in (".pt", ".pth", ".ckpt", ".bin")
            else "numpy"
            if suffix == ".npz"
            else "archive"
        )
    if head[257:262] == b"ustar" or suffix in (".tar", ".tgz", ".7z", ".rar"):
        return "archive"
    if (head[:1] == b"\x80" and head[1:2] in b"\x02\x03\x04\x05" and opened.is_binary(head + b"\0")) or suffix in _PICKLES:
        return "pickle"
    return None
