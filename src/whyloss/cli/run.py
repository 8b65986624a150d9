"""`whyloss run`: watch a training script and report why it does not learn."""

import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import click

from whyloss.cli.ranks import Meeting, my_rank
from whyloss.cli.settings import Configured, option
from whyloss.cli.watching import PASSTHROUGH, check_command, check_reports, end, launch, message_of, say_why, tell
from whyloss.errors import BadInput


@click.command("run", cls=Configured, context_settings=PASSTHROUGH,
               short_help="Watch a training script and say why it does not learn.")
@option("--report", multiple=True, metavar="FILE", type=click.Path(),
        help="Write the report to FILE; format by suffix: .json .html .md .sarif .xml. Repeatable.")
@option("--strict", is_flag=True, help="Exit with status 1 if a cause was proven or confirmed.")
@option("--steps", type=click.IntRange(min=1), metavar="N", help="End the script after N optimizer steps.")
@option("--budget", type=click.FloatRange(min=0), default=60, show_default=True, metavar="SECONDS",
        help="Processor time for experiments.")
@option("--no-experiments", is_flag=True, help="Only watch: nothing is confirmed by experiment.")
@option("--only", multiple=True, metavar="CAUSE", help="Look for this cause only. Repeatable.")
@option("--ignore", multiple=True, metavar="CAUSE", help="Never name this cause. Repeatable.")
@option("--layers", is_flag=True, help="Show the table of layers.")
@option("--watch", metavar="FOLDER", type=click.Path(),
        help="Only watch, for about 1 % of the time; the ledger goes to FOLDER (whyloss health FOLDER).")
@option("--freeze", is_flag=True,
        help="With --watch: save the first steps to FOLDER, and more when something goes badly wrong (whyloss diagnose FILE).")
@option("--quiet", is_flag=True, help="Show nothing; write the report files only.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="SCRIPT [ARGS]...")
@click.pass_context
def command(ctx, report, strict, steps, budget, no_experiments, only, ignore, layers, watch, freeze, quiet, command) -> None:
    """Watch a training script, unchanged, and say why it does not learn.

    What follows is a script with its arguments, `-m package.module`, or a command that ends in Python (torchrun,
    accelerate launch). The script's output and exit status stay as they are; the report goes to standard error.
    """
    command = check_command(command, ctx.command)
    check_reports(report)
    check_causes(only + ignore)
    if watch:
        unused = {"--report": report, "--strict": strict, "--steps": steps, "--no-experiments": no_experiments, "--only": only, "--ignore": ignore,
                  "--layers": layers}
        sys.exit(only_watch(command, watch, [name for name, given in unused.items() if given], quiet, freeze))
    if freeze:
        raise BadInput("--freeze saves steps of a training that is only watched: give --watch FOLDER too")
    settings = {"steps": steps, "budget": budget, "experiments": not no_experiments, "only": list(only),
                "ignore": list(ignore), "layers": layers}
    with tempfile.TemporaryDirectory(prefix="whyloss-", ignore_cleanup_errors=True) as folder, Meeting() as meeting:
        session = Path(folder)
        status = launch(command, settings, session)
        result = None if meeting.rank else read_report(session)
    if result is None:
        end(status)  # rank 0 reports for all
    if not quiet:
        show(result, layers)
        annotate(result)
    write_reports(result, report)
    end(1 if strict and result.verdict == "fault" else status)


def only_watch(command, folder: str, unused: list[str], quiet: bool, freeze: bool = False) -> int:
    """Run the command under a Monitor: a ledger and alerts, no diagnosis. -> the command's own status."""
    if unused:
        raise BadInput(f"--watch makes a ledger and no diagnosis: {', '.join(unused)} would do nothing; "
                       "leave --watch out, or look with `whyloss health`")
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"cannot write the ledger to {folder!r}: {error}") from error
    with tempfile.TemporaryDirectory(prefix="whyloss-", ignore_cleanup_errors=True) as session:
        status = launch(command, {"watch": str(Path(folder).absolute()), "freeze": freeze}, Path(session))
        if not quiet and not my_rank():
            tell(message_of(Path(session)))
    if status < 0:
        end(status)
    return status


def check_causes(names: tuple[str, ...]) -> None:
    """Raises UnknownName for an id that is not in the catalogue."""
    if names:
        from whyloss.causes import cause

        for name in names:
            cause(name)


def read_report(session: Path):
    """The report that the watcher left, or an undetermined one that says why there is none."""
    from whyloss.render.json import read
    from whyloss.report import Report

    file = session / "report.json"
    if not file.exists():
        return from_ledger(session) or Report("undetermined", summary=message_of(session))
    try:
        return read(file)
    except Exception as error:  # whatever is in that file, the script's own status must survive
        return Report("undetermined", summary=f"the watcher's report cannot be read: {say_why(error)}")


def from_ledger(session: Path):
    """A report on what a process wrote down before it was killed, or None. Without experiments: the model is gone."""
    from whyloss.diagnosis.diagnose import diagnose
    from whyloss.sources.gather import gather
    from whyloss.sources.ledger import fullest

    evidence = fullest(session)
    if evidence is None:
        return None
    try:
        gather(Path(os.environ.get("WHYLOSS_RANKS") or session), evidence, seconds=1.0)
        report = diagnose(evidence, None)
    except Exception as error:
        tell(f"what was written down before the end cannot be judged: {say_why(error)}")
        return None
    return replace(report, summary=f"{report.summary}; the script ended without its report, so this is what it had written down until then")


def show(report, layers: bool) -> None:
    """The report on standard error. An error of ours is told, never raised: the script's status must survive."""
    try:
        from rich.console import Console

        from whyloss.render.terminal import show as render

        render(report, Console(stderr=True), layers=layers)
    except Exception as error:
        tell(f"the report cannot be shown: {say_why(error)}")


def write_reports(report, paths: tuple[str, ...]) -> None:
    """Each report file; one that cannot be written is told, and the others are written all the same."""
    from whyloss.render import write

    for path in paths:
        try:
            write(report, path)
        except Exception as error:
            tell(f"report {path!r} was not written: {say_why(error)}")


def annotate(report) -> None:
    """In a job of GitHub Actions: annotations in the log, and the report in the job's summary."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return
    try:
        from whyloss.render import github, markdown

        sys.stderr.write(github.render(report))
        if os.environ.get("GITHUB_STEP_SUMMARY"):
            with open(os.environ["GITHUB_STEP_SUMMARY"], "a", encoding="utf-8") as summary:
                summary.write(markdown.render(report))
    except Exception as error:
        tell(f"the job was not annotated: {say_why(error)}")
