"""`whyloss run` started by a launcher, once a rank: where the ranks' files meet, and who reports."""

import hashlib
import os
import shutil
import tempfile
from pathlib import Path


def my_rank() -> int | None:
    """This process's rank among several that a launcher (torchrun, accelerate launch, srun) started; None for a single one."""
    try:
        rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    except (KeyError, ValueError):
        return None
    return rank if world > 1 else None


class Meeting:
    """The folder that the ranks of one launch share. WHYLOSS_RANKS names one on a shared disk, for several hosts."""

    def __init__(self) -> None:
        self.given = os.environ.get("WHYLOSS_RANKS")
        self.rank = my_rank()
        self.folder: Path | None = None

    def __enter__(self) -> "Meeting":
        if self.rank is None:
            return self
        if self.given:
            self.folder = Path(self.given)
        else:
            self.folder = Path(tempfile.gettempdir()) / f"whyloss-ranks-{_key()}"
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if hasattr(os, "getuid") and not self.given and self.folder.stat().st_uid != os.getuid():
                self.folder = None  # somebody else's: the ranks stay apart
        except OSError:
            self.folder = None
        if self.folder is not None:
            os.environ["WHYLOSS_RANKS"] = str(self.folder)
        return self

    def __exit__(self, *_) -> None:
        if self.folder is not None and not self.given:
            os.environ.pop("WHYLOSS_RANKS", None)
            if self.rank == 0:
                shutil.rmtree(self.folder, ignore_errors=True)


def _key() -> str:
    """The same for every rank of one launch on this host, and for no other launch: the launcher's process and its settings."""
    parent = os.getppid()
    try:
        born = Path(f"/proc/{parent}/stat").read_text().rsplit(")", 1)[1].split()[19]
    except (OSError, IndexError):
        born = ""
    names = ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE")
    text = "|".join([str(parent), born, str(os.getuid()) if hasattr(os, "getuid") else "", *(os.environ.get(n, "") for n in names)])
    return hashlib.sha256(text.encode()).hexdigest()[:20]
