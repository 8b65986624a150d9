"""Start a command under the watcher, and end as it ended."""

import os
import signal
import sys
from pathlib import Path

import click

from whyloss.errors import BadInput, UnknownName, WhylossError
from whyloss.render import format_of

PASSTHROUGH = {"allow_interspersed_args": False, "ignore_unknown_options": True}


def check_command(command: tuple[str, ...], ours: click.Command) -> list[str]:
    """The command to watch. Raises UnknownName for a mistyped option of ours before it, BadInput if it is empty."""
    if command and command[0].startswith("-") and command[0] != "-m":
        raise UnknownName("option", command[0].split("=")[0],
                          [name for option in ours.params for name in option.opts if name.startswith("--")])
    if not command or command == ("-m",):
        raise BadInput("nothing to watch; give a script (train.py --epochs 3), -m package.module, or a command "
                       "(torchrun ...)")
    return list(command)


def check_reports(paths: tuple[str, ...]) -> None:
    """Refuse before the start what could not be written at the end. Raises BadInput."""
    for path in paths:
        format_of(path)
        folder = Path(path).absolute().parent
        if not folder.is_dir():
            raise BadInput(f"cannot write report {path!r}: there is no folder {str(folder)!r}")
        if Path(path).is_dir():
            raise BadInput(f"cannot write report {path!r}: it is a folder")
        if not os.access(folder, os.W_OK):
            raise BadInput(f"cannot write report {path!r}: folder {str(folder)!r} is not writable")


def launch(command: list[str], settings: dict, session: Path) -> int:
    """Run the command under the watcher. -> its own exit status, negative if a signal ended it."""
    from whyloss.sources.launch import launch as start

    return start(command, settings, session)


def message_of(session: Path) -> str:
    """Why there is no result: the watcher's own message, or that nothing was trained."""
    try:
        return (session / "message.txt").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "nothing was watched: the script never trained a torch model"


def tell(text: object) -> None:
    """One line of ours on standard error; silent if nobody listens any more."""
    from whyloss.render.words import plain

    try:
        print(f"whyloss: {plain(text)}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        pass


def say_why(error: Exception) -> str:
    """What to tell about an error of ours; the class is named where the text alone would not do."""
    return str(error) if isinstance(error, (WhylossError, OSError)) else f"{type(error).__name__}: {error}"


def end(status: int) -> None:
    """Leave as the watched command left: with its status, or by its signal, so that a launcher notices no watcher."""
    sys.stdout.flush()
    if status < 0:
        try:
            signal.signal(-status, signal.SIG_DFL)
        except (OSError, ValueError):
            pass  # SIGKILL cannot be set, and need not be
        os.kill(os.getpid(), -status)
        status = 128 - status  # a signal that did not end us
    sys.exit(status)
