"""Starts the user's command with the watcher first on its path, and waits. The parent never imports torch."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from whyloss.errors import BadInput

BOOTSTRAP = Path(__file__).resolve().parent.parent / "bootstrap"


def full_command(command: list[str]) -> list[str]:
    """The command line to run: a script or -m runs under this Python, anything else is run as it is.

    Raises BadInput when there is no such script or program.
    """
    if not command:
        raise BadInput("nothing to run: give a script, -m module, or a command that ends in Python")
    first = command[0]
    if first == "-m":
        if len(command) < 2:
            raise BadInput("-m needs the name of a module")
        return [sys.executable, *command]
    if first.endswith((".py", ".pyw")) or Path(first).is_dir() and (Path(first) / "__main__.py").exists():
        if not Path(first).exists():
            raise BadInput(f"no such script: {first}")
        return [sys.executable, *command]
    if shutil.which(first) is None:
        raise BadInput(f"no such script or program: {first}")
    return command


def launch(command: list[str], settings: dict, session: Path) -> int:
    """Run `command` watched. -> its exit status; minus the signal number if a signal ended it.

    settings  steps, budget, experiments, only, ignore, try; see the command line
    session   an existing folder for the report and the ledger
    """
    line = full_command(command)
    environment = dict(os.environ)
    environment["WHYLOSS_SESSION"] = str(session)
    environment["WHYLOSS_SETTINGS"] = json.dumps(settings)
    source = str(BOOTSTRAP.parent.parent)
    paths = [str(BOOTSTRAP), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(p for p in paths if p)
    environment["WHYLOSS_SOURCE"] = source
    # A handler (not SIG_IGN, which the child would inherit): Ctrl-C reaches the child itself, we wait for its report.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        child = subprocess.Popen(line, env=environment)
        relay = signal.signal(signal.SIGTERM, lambda number, _frame: child.send_signal(number))
        try:
            return child.wait()
        finally:
            signal.signal(signal.SIGTERM, relay)
    finally:
        signal.signal(signal.SIGINT, before)
