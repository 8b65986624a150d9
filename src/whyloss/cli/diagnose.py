"""`whyloss diagnose`: the walk and the experiments on a training step that was frozen into a file."""

import contextlib
import signal
import sys

import click

from whyloss.cli.run import check_causes, write_reports
from whyloss.cli.settings import Configured, option
from whyloss.cli.watching import check_reports, tell
from whyloss.errors import CannotReplay


@click.command("diagnose", cls=Configured, short_help="Say why a frozen training step does not learn.")
@option("--report", multiple=True, metavar="FILE", type=click.Path(),
        help="Write the report to FILE; format by suffix: .json .html .md .sarif .xml. Repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output in place of the report.")
@option("--strict", is_flag=True, help="Exit with status 1 if a cause was proven or confirmed.")
@option("--budget", type=click.FloatRange(min=0), default=60, show_default=True, metavar="SECONDS", help="Processor time for experiments.")
@option("--no-experiments", is_flag=True, help="Judge what was seen; nothing is confirmed by experiment, and nothing of the file is run.")
@option("--only", multiple=True, metavar="CAUSE", help="Look for this cause only. Repeatable.")
@option("--ignore", multiple=True, metavar="CAUSE", help="Never name this cause. Repeatable.")
@option("--layers", is_flag=True, help="Show the table of layers.")
@click.option("--trust", is_flag=True, help="Run the code in the file: the model's classes and pickled objects. Only for a file of your own.")
@click.argument("file", metavar="FILE.whyloss", type=click.Path())
def command(report, as_json, strict, budget, no_experiments, only, ignore, layers, trust, file) -> None:
    """Say why the training in FILE does not learn, with experiments on its frozen step, here, on the CPU.

    A training writes such a file: whyloss.Monitor(model, freeze="runs/7"), monitor.freeze("step.whyloss"), or
    `whyloss run --watch runs/7 --freeze train.py`. The observations in it are plain data. The step itself holds the
    script's classes and pickled objects: loading it runs code of whoever made the file, so it asks first, or wants --trust.
    """
    from whyloss.sources.frozen.file import quote, read

    check_reports(report)
    check_causes(only + ignore)
    saved = read(file)
    quote(saved)
    why_not = None if no_experiments else refused(saved, trust)
    found = judged(saved, budget=budget, experiments=not no_experiments, why_not=why_not, only=only, ignore=ignore)
    if as_json:
        from whyloss.render.json import render

        click.echo(render(found), nl=False)
    else:
        from whyloss.cli.printing import console
        from whyloss.render.terminal import show

        show(found, console(), layers=layers)
    write_reports(found, report)
    sys.exit(int(strict and found.verdict == "fault"))


def refused(saved, trust: bool) -> str | None:
    """Why the step is not loaded; None where it may be."""
    if not saved.whole:
        return str(saved.about["problem"])
    if trust:
        return None
    what = f"{saved.path} holds a training step as Python code and pickled objects; loading it runs code of whoever made the file"
    if sys.stdin.isatty() and sys.stderr.isatty():
        if click.confirm(f"whyloss: {what}. Load it?", err=True):
            return None
        return "the file is not trusted: its step was not loaded"
    tell(f"{what}. It is judged without experiments; --trust loads it")
    return "the file's step was not loaded: that runs code of whoever made the file; --trust allows it"


def judged(saved, *, budget: float, experiments: bool, why_not: str | None, only=(), ignore=()):
    """The report on a file, with experiments where its step may be and can be loaded. Ctrl-C ends the experiments, not the report."""
    with contextlib.suppress(ValueError, OSError):
        signal.signal(signal.SIGINT, signal.default_int_handler)
    ignore = tuple(ignore) + tuple(late(saved))
    settings = {"only": only, "ignore": ignore, "script": saved.about.get("script")}
    if experiments and why_not is None:
        try:
            return _with_laboratory(saved, budget, settings)
        except ImportError as error:
            why_not = f"the step needs {error.name or 'torch'}, which is not installed here"
        except CannotReplay as error:
            why_not = str(error)
        tell(f"no experiments: {why_not}")
    return _without(saved, settings, why_not)


def _with_laboratory(saved, budget: float, settings: dict):
    """Raises CannotReplay where the step cannot be loaded."""
    from whyloss.cli.finish import Progress
    from whyloss.diagnosis.diagnose import diagnose
    from whyloss.laboratory.lab import open_laboratory
    from whyloss.sources.attach import _silence
    from whyloss.sources.frozen.reading import OnCpu, thaw

    progress = Progress()
    # what the model prints while it is replayed is no part of the report; a step of another device runs here
    with _silence(), OnCpu() if set(saved.about.get("devices", ())) - {"cpu"} else contextlib.nullcontext():
        program = thaw(saved)
        evidence = saved.evidence.copy()
        try:
            laboratory = open_laboratory(program, evidence, budget=budget, progress=progress)
            return diagnose(evidence, laboratory, **settings)
        finally:
            progress.clear()


def _without(saved, settings: dict, why_not: str | None):
    from dataclasses import replace

    from whyloss.diagnosis.diagnose import diagnose

    found = diagnose(saved.evidence, None, experiments=False, **settings)
    if why_not is None:
        return found
    rows = tuple(f"experiments: {why_not}" if row.startswith("experiments: ") else row for row in found.not_examined)
    return replace(found, not_examined=rows)


def late(saved) -> list[str]:
    """Causes of which a step that was frozen in the middle of a training says nothing: its start was not seen."""
    from whyloss.causes import CAUSES

    return [name for name, cause in CAUSES.items() if cause.family == "init"] if saved.about.get("step") else []
