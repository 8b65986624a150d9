"""`%%whyloss`: a notebook cell that trains, watched. `%load_ext whyloss` first.

The cell runs in the notebook's own variables and shows what it always shows; then comes the report. It is the cell's
result too, so `_` holds it afterwards.
"""

import contextlib
import sys

import click

from whyloss.sources.watch import Watch


class Enough(BaseException):
    """--steps have been done: ends the cell without a traceback."""


class CellWatch(Watch):
    """A watch whose limit ends the cell, not the notebook."""

    def after_step(self, optimizer, where) -> None:
        try:
            super().after_step(optimizer, where)
        except SystemExit:
            raise Enough from None


@click.command("%%whyloss", add_help_option=False)
@click.option("--steps", type=click.IntRange(min=1))
@click.option("--budget", type=click.FloatRange(min=0), default=60)
@click.option("--no-experiments", is_flag=True)
def options(**settings) -> dict:
    """Options of the magic's line."""
    return settings


def read_options(line: str) -> dict:
    """{"steps", "budget", "no_experiments"} of the line after %%whyloss. Raises BadInput."""
    import shlex

    from whyloss.errors import BadInput

    try:
        return options.main(shlex.split(line), standalone_mode=False)
    except (click.ClickException, ValueError) as error:
        said = error.format_message() if isinstance(error, click.ClickException) else str(error)
        known = "--steps N, --budget SECONDS and --no-experiments"
        raise BadInput(f"%%whyloss {line}: {said}; it knows {known}") from error


def run_cell(shell, line: str, cell: str):
    """Run the cell watched. -> the report, or None where nothing was trained."""
    from whyloss.cli.api import judged

    settings = read_options(line)
    watch = CellWatch(steps=settings["steps"]).start()
    try:
        with quietly_ended(shell):
            done = shell.run_cell(cell, store_history=False)
        note_error(watch, done.error_before_exec or done.error_in_exec)
    finally:
        watch.stop()
    if not (watch.window_count or watch.step_count or watch.program.modules):
        print("whyloss: nothing was watched: the cell trained no torch model", file=sys.stderr)
        return None
    return judged(watch, budget=settings["budget"], experiments=not settings["no_experiments"])


@contextlib.contextmanager
def quietly_ended(shell):
    """No traceback for the end that --steps makes; the notebook's own handler of exceptions comes back."""
    kinds, handler, result = shell.custom_exceptions, shell.CustomTB, shell.displayhook.exec_result
    shell.set_custom_exc((Enough,), lambda *_, **__: [])
    try:
        yield
    finally:
        shell.custom_exceptions, shell.CustomTB = kinds, handler
        shell.displayhook.exec_result = result  # the inner cell took it; ours is still running


def note_error(watch, error: BaseException | None) -> None:
    """What ended the cell is an observation; the notebook has shown its traceback already."""
    from whyloss.sources import place

    if error is None or isinstance(error, Enough):
        return
    where, trace = None, error.__traceback__
    while trace is not None:
        if place.is_user_file(trace.tb_frame.f_code.co_filename):
            where = f"{place.shown(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
        trace = trace.tb_next
    watch.observe("raised", {"type": type(error).__name__, "message": str(error)[:300], "place": where})


def load_ipython_extension(shell) -> None:
    """`%load_ext whyloss`"""
    shell.register_magic_function(lambda line, cell: run_cell(shell, line, cell), "cell", "whyloss")


def unload_ipython_extension(shell) -> None:
    """`%unload_ext whyloss`"""
    shell.magics_manager.magics["cell"].pop("whyloss", None)
