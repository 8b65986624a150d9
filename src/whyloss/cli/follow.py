"""`whyloss read --follow`: read a log again as it grows, show its picture, and say each change of what it shows."""

import glob
import os
import time
from itertools import chain

from whyloss.cli.reading import gather
from whyloss.errors import LogUnreadable, UnknownName

PAUSE = 1.0     # seconds between two looks; a large log that takes longer to read is looked at less often
SHARE = 0.2     # of the time at most is spent reading


def stamp(paths) -> tuple:
    """Sizes and times of the files: the same as before means that nothing was written."""
    found = []
    for path in chain.from_iterable([path] if "://" in path or os.path.lexists(path) else sorted(glob.glob(path, recursive=True)) for path in paths):
        if "://" in path:
            found.append(time.monotonic())  # an address is asked by reading it
            continue
        for folder, _, names in os.walk(path) if os.path.isdir(path) else [("", [], [path])]:
            for name in names:
                try:
                    told = os.stat(os.path.join(folder, name))
                    found.append((told.st_ino, told.st_size, told.st_mtime_ns))
                except OSError:
                    continue
    return tuple(found)


def follow(paths, how: dict, report=(), *, as_json: bool = False, strict: bool = False, pause: float = PAUSE, looks: int | None = None) -> int:
    """Until Ctrl-C (or `looks` times): look whether the log has grown, read it, show it. -> exit status of `whyloss read`."""
    from whyloss.cli.read import status, tell_all, write_reports

    screen, before, readings, said = Screen(as_json), None, None, {}
    try:
        with screen:
            while looks is None or looks > 0:
                looks = None if looks is None else looks - 1
                now, began = stamp(paths), time.monotonic()
                if now != before:
                    before = now
                    try:
                        readings = gather(paths, **how)
                    except LogUnreadable as error:      # not there yet: it may be made by the training that starts now
                        screen.wait(str(error))
                    except UnknownName as error:        # the column may come with the first validation
                        screen.wait(str(error))
                    else:
                        screen.show(readings)
                        for reading in readings.shown:
                            if said.get(reading.id) not in (None, reading.label):
                                screen.say(f"{reading.id}: {said[reading.id]} became {reading.label}: {reading.detail}")
                            said[reading.id] = reading.label
                if looks != 0:
                    time.sleep(max(pause, (time.monotonic() - began) / SHARE))
    except KeyboardInterrupt:
        pass
    if readings is None:
        return 2
    if not screen.live:
        tell_all(readings, as_json)
    write_reports(readings, report)
    return status(readings, paths, strict)


class Screen:
    """A picture that is renewed in place on a terminal; elsewhere one line a change."""

    def __init__(self, as_json: bool):
        from whyloss.cli.printing import console

        self.console = console()
        self.live = self.console.is_terminal and not as_json
        self.quiet = as_json
        self.view = None
        self.waiting = ""

    def __enter__(self):
        if self.live:
            from rich.live import Live

            self.view = Live("", console=self.console, auto_refresh=False, vertical_overflow="visible")
            self.view.__enter__()
        return self

    def __exit__(self, *error):
        if self.view is not None:
            self.view.__exit__(*error)

    def show(self, readings) -> None:
        self.waiting = ""
        if self.view is not None:
            self.view.update(self._picture(readings), refresh=True)

    def _picture(self, readings):
        import io

        from rich.console import Console
        from rich.text import Text

        from whyloss.render.reading.terminal import show

        drawn = Console(file=io.StringIO(), width=self.console.width, force_terminal=True, highlight=False,
                        color_system=self.console.color_system)
        show(readings, drawn)
        return Text.from_ansi(drawn.file.getvalue())

    def say(self, line: str) -> None:
        from whyloss.render.words import one_line

        if not self.quiet:
            self.console.print(one_line(f"{time.strftime('%H:%M:%S')}  {line}"))

    def wait(self, why: str) -> None:
        """Say once what is waited for."""
        if why != self.waiting:
            self.waiting = why
            self.say(f"waiting: {why}")
