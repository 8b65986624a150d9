"""The end of a watched run, inside the watched process: diagnose with the laboratory and write the session's files."""

import os
import sys
from pathlib import Path

from whyloss.diagnosis.diagnose import diagnose
from whyloss.render import write


def finish(watch, settings: dict, session: Path) -> None:
    """Diagnose what was watched; report.json (or trial.json for `whyloss try`) appears in the session folder."""
    from whyloss.laboratory.lab import open_laboratory

    progress = Progress()
    laboratory = open_laboratory(watch.program, watch.evidence, budget=float(settings.get("budget") or 60), progress=progress)
    try:
        if settings.get("try"):
            from whyloss.cli.trials import run_trial
            run_trial(laboratory, settings["try"], session)
            return
        report = diagnose(watch.evidence, laboratory, ignore=settings.get("ignore") or (), only=settings.get("only") or (),
                          experiments=settings.get("experiments", True), script=sys.argv[0] if sys.argv else None)
    finally:
        progress.clear()
    rank = os.environ.get("RANK") if watch.ranks.world < 2 else None  # of ranks that meet, only the first comes here
    name = "report.json" if rank in (None, "0") else f"report-rank{rank}.json"
    write(report, session / name)


class Progress:
    """One line on the terminal while experiments run; nothing where standard error is no terminal."""

    def __init__(self) -> None:
        try:
            self.terminal = open("/dev/tty", "w") if sys.__stderr__ is not None and sys.__stderr__.isatty() else None
        except OSError:
            self.terminal = None
        self.shown = ""

    def __call__(self, name: str, done: int, total: int) -> None:
        if self.terminal is None or done % 10 and done != total:
            return
        filled = round(24 * done / max(total, 1))
        self.shown = f"whyloss: {name:<22} [{'#' * filled}{'.' * (24 - filled)}] {done}/{total}  Ctrl-C: report so far"
        self.terminal.write("\r" + self.shown)
        self.terminal.flush()

    def clear(self) -> None:
        if self.terminal is not None and self.shown:
            self.terminal.write("\r" + " " * len(self.shown) + "\r")
            self.terminal.flush()
