"""`whyloss health`: a run at a glance, layer by layer, while it goes on or afterwards."""

import contextlib
import os
import sqlite3
import sys
import time
from pathlib import Path

import click

from whyloss.cli.follow import PAUSE, SHARE, Screen, stamp
from whyloss.errors import LogUnreadable

FRAMES = 200      # read of one run, evenly chosen; thinned-out extremes are read beside them
MEMORY = 8 * 2**20  # bytes for the common frames of many ranks
TRENDS = ("activation_std", "dead_share", "grad_norm", "weight_norm", "update_ratio")


@click.command("health", short_help="Show how each layer of a run is doing, live or finished.")
@click.argument("path", metavar="PATH")
@click.option("--parameters", is_flag=True, help="A row for each parameter in place of each layer.")
@click.option("--trend", type=click.Choice(TRENDS), help="The quantity whose course is drawn.  [default: grad_norm]")
@click.option("--all", "everything", is_flag=True, help="Show all layers of a large model.")
@click.option("--follow", is_flag=True, help="Renew the table while the run goes on; Ctrl-C ends.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output in place of the table.")
def command(path, parameters, trend, everything, follow, as_json) -> None:
    """Show activation std, dead units, gradient norm, weight norm and update ratio of each layer, their course, and what was told.

    PATH is the folder of a run, its ledger, a report that whyloss wrote as JSON, or an address (s3://). Of a folder with several ranks
    the ranks are merged; of a folder of runs the newest is shown.

    Guides are where trainings that learn usually are; outside of them is no fault by itself.
    """
    how = {"trend": trend, "parameters": parameters}
    if follow:
        sys.exit(keep_showing(path, how, as_json=as_json, everything=everything))
    tell(look(path, **how), as_json, everything)


def tell(found, as_json: bool, everything: bool) -> None:
    """The table, or its JSON, on standard output."""
    from whyloss.render.health import render, show

    if as_json:
        click.echo(render(found), nl=False)
    else:
        from whyloss.cli.printing import console

        show(found, console(), everything=everything)


# ---------------------------------------------------------------------- what lies at a path
def look(path: str, **how):
    """The health of the run at a path or an address. Raises LogUnreadable where there is none."""
    from whyloss.sources.readers import remote

    path = remote.local(path)
    if remote.is_remote(path):
        with remote.fetched(path) as copy:
            found = _look(copy, **how)
            found.path = path
            return found
    return _look(path, **how)


def _look(path: str, **how):
    try:
        if os.path.isdir(path):
            return _folder(Path(path), **how)
        if not os.path.exists(path):
            raise LogUnreadable(f"{path}: no such file or folder")
        with open(path, "rb") as stream:
            head = stream.read(64).lstrip()
        return _report(Path(path), **how) if head.startswith(b"{") else _file(Path(path), **how)
    except LogUnreadable:
        raise
    except (sqlite3.Error, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise LogUnreadable(f"{path}: no readable ledger or report: {error}") from error


def _folder(folder: Path, **how):
    from whyloss.sources.framefile import holds_frames
    from whyloss.sources.ledger import fullest

    files = [file for file in sorted(folder.glob("*.db")) if holds_frames(file)]
    if len(files) == 1:
        return _file(files[0], shown=str(folder), **how)
    if files:
        return _ranks(folder, files, **how)
    evidence = fullest(folder)
    if evidence is not None and len(evidence):
        return _watched(evidence, str(folder), **how)
    inner = [file for pattern in ("*/*.db", "*/*.json", "*.json") for file in folder.glob(pattern)]
    for file in sorted(inner, key=lambda file: -file.stat().st_mtime):
        with contextlib.suppress(LogUnreadable):
            return _look(str(file if file.parent == folder else file.parent), **how)
    raise LogUnreadable(f"{folder}: no ledger and no report there; a run keeps one with whyloss.Monitor(model, optimizer, run=FOLDER)")


def _file(file: Path, shown: str | None = None, **how):
    from whyloss.render.health import health
    from whyloss.sources import framefile
    from whyloss.sources.ledger import read

    if not framefile.holds_frames(file):
        return _watched(read(file), str(file), **how)
    parts, stored = framefile.parts_of(file), len(framefile.steps_of(file))
    evidence = framefile.read_frames(file, most=FRAMES, quantities={"loss", *TRENDS})
    state, finished = state_of(parts)
    return health(evidence, shown or str(file), run=parts[-1].run if parts else "main", told=framefile.events_of(file), state=state,
                  finished=finished, about=f"{stored} frames", **how)


def _ranks(folder: Path, files: list[Path], **how):
    from whyloss import checks
    from whyloss.diagnosis.examine import examine
    from whyloss.render.health import health
    from whyloss.sources import framefile
    from whyloss.sources.merging import merge

    evidence = merge(folder, memory=MEMORY)
    told = [{"step": o.step, "kind": kind, "data": o.value} for (_, kind, _), column in evidence.columns() for o in column
            if isinstance(o.value, dict) and "ranks" in o.value and not kind.startswith("ranks")]
    states = [state_of(framefile.parts_of(file)) for file in files]
    running = [words for words, finished in states if not finished]
    merged = evidence.fact("ranks_merged")
    found = [f for check in checks.ALL if check.stage == "ranks" for f in examine(check(), evidence).findings]
    missing = [f"rank {rank} is left out: {why}" for rank, why in merged["absent"].items()]
    if merged["incomplete"]:
        missing.append(f"a part of {merged['incomplete'][0]} was not read, so there is no norm of it"
                       + (f", nor of {len(merged['incomplete']) - 1} more" if len(merged["incomplete"]) > 1 else ""))
    shown = health(evidence, str(folder), told=sorted(told, key=lambda event: event["step"]), state=running[0] if running else states[0][0],
                   finished=not running, about=f"{merged['ranks']} ranks, {merged['frames']} common frames", **how)
    shown.findings, shown.noticed = found, [*missing, *shown.noticed]
    return shown


def _watched(evidence, path: str, **how):
    """What `whyloss run` kept: the steps it looked into."""
    from whyloss.render.health import health

    totals = evidence.fact("totals", default={}) or {}
    return health(evidence, path, about=f"watched by whyloss run, {totals.get('optimizer_steps', '?')} steps", **how)


def _report(file: Path, **how):
    """The first and the last value of each layer, from a report."""
    from whyloss.evidence import Evidence
    from whyloss.render import json
    from whyloss.render.health import PARAMETER, health

    report, evidence = json.read(file), Evidence()
    if not report.layers:
        raise LogUnreadable(f"{file}: a report without layers: it was not made from a watched training")
    curve = next((c for c in report.curves if c.quantity == "loss"), None)
    for step, value in zip(curve.steps, curve.values) if curve else ():
        evidence.add("loss", value, step=int(step))
    last = int(curve.steps[-1]) if curve and curve.steps else 1
    for layer in report.layers:
        for quantity, value in layer.values.items():
            pair = value if isinstance(value, (list, tuple)) else (value["first"], value["last"]) if isinstance(value, dict) else (value,)
            for step, number in zip((0, last), pair):
                if isinstance(number, (int, float)):
                    evidence.add(quantity, number, subject=f"{layer.name}.weight" if quantity in PARAMETER else layer.name, step=step)
    return health(evidence, str(file), about="a report: first and last value", **how)


def state_of(parts) -> tuple[str, bool]:
    """(how the run goes on, whether it has ended), from its last part."""
    from whyloss.live.condition import condition

    now = condition(parts)
    if not parts:
        return now.words, False
    ago = max(0.0, time.time() - now.wrote)
    since = f"{ago:.0f} s" if ago < 120 else f"{ago / 60:.0f} min" if ago < 7200 else f"{ago / 3600:.0f} h"
    if now.kind == "finished":
        return f"finished {since} ago", True
    if now.kind == "stopped":
        return f"ended {since} ago without closing its ledger: killed?", True
    return (f"silent for {since}{now.words.removeprefix('silent')}" if now.kind == "silent" else f"running, written {since} ago"), False


# ---------------------------------------------------------------------- again and again
class Renewed(Screen):
    """The table, renewed in place."""

    everything = False

    def _picture(self, found):
        import io

        from rich.console import Console
        from rich.text import Text

        from whyloss.render.health import show

        drawn = Console(file=io.StringIO(), width=self.console.width, force_terminal=True, highlight=False, color_system=self.console.color_system)
        show(found, drawn, everything=self.everything)
        return Text.from_ansi(drawn.file.getvalue())


def keep_showing(path: str, how: dict, *, as_json: bool, everything: bool, pause: float = PAUSE, looks: int | None = None) -> int:
    """Until the run has ended, Ctrl-C, or `looks` times: in place on a terminal; elsewhere a line an event (JSON: a look), the table at the end."""
    from whyloss.render.health import render

    screen, before, found, said = Renewed(as_json), None, None, set()
    screen.everything = everything
    try:
        with screen:
            while looks is None or looks > 0:
                looks = None if looks is None else looks - 1
                began, now = time.monotonic(), stamp([path])
                try:
                    found = look(path, **how)
                except LogUnreadable as error:  # it may be made by the training that starts now
                    screen.wait(str(error))
                else:
                    screen.show(found)
                    if as_json and now != before:
                        click.echo(render(found, indent=None), nl=False)
                    for event in found.events if not screen.live else ():
                        line = f"step {event['step']}  {event['kind']}  {_words(event)}"
                        if line not in said:
                            said.add(line)
                            screen.say(line)
                    if found.finished:
                        break
                before = now
                if looks != 0:
                    time.sleep(max(pause, (time.monotonic() - began) / SHARE))
    except KeyboardInterrupt:
        pass
    if found is None:
        return 2
    if not screen.live and not as_json:
        tell(found, False, everything)
    return 0


def _words(event: dict) -> str:
    data = event["data"]
    return str(data.get("message", data) if isinstance(data, dict) else data)
