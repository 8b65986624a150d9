"""`whyloss try`: one experiment on a copy of the training step that a script runs."""

import tempfile
from pathlib import Path

import click

from whyloss.cli.settings import Configured, option
from whyloss.cli.watching import PASSTHROUGH, check_command, end, launch, message_of, say_why, tell
from whyloss.errors import UnknownName


@click.command("try", cls=Configured, context_settings=PASSTHROUGH,
               short_help="Try one experiment on a copy of the training step.")
@option("--steps", type=click.IntRange(min=1), metavar="N", help="End the script after N optimizer steps.")
@option("--budget", type=click.FloatRange(min=0), default=60, show_default=True, metavar="SECONDS",
        help="Time for the experiment.")
@click.argument("name", metavar="EXPERIMENT")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="SCRIPT [ARGS]...")
@click.pass_context
def command(ctx, steps, budget, name, command) -> None:
    """Try one experiment on a copy of a script's training step.

    `whyloss try list` names the experiments. The script itself runs as it would; the result goes to standard error.
    """
    from whyloss.laboratory.names import EXPERIMENTS

    if name == "list":
        list_experiments(EXPERIMENTS)
        return
    if name not in EXPERIMENTS:
        raise UnknownName("experiment", name, EXPERIMENTS)
    command = check_command(command, ctx.command)
    with tempfile.TemporaryDirectory(prefix="whyloss-", ignore_cleanup_errors=True) as folder:
        status = launch(command, {"try": name, "steps": steps, "budget": budget}, Path(folder))
        show(Path(folder), name)
    end(status)


def list_experiments(experiments: dict[str, str]) -> None:
    """Name and one sentence of each experiment, on standard output."""
    from rich.table import Table

    from whyloss.cli.printing import console, text
    from whyloss.render.terminal import write

    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, sentence in experiments.items():
        grid.add_row(text(name, "bold"), text(sentence))
    write(console(), grid, indent=0)


def show(session: Path, name: str) -> None:
    """The experiment's result, or why there is none. An error of ours is told, never raised."""
    file = session / "trial.json"
    if not file.exists():
        tell(message_of(session))
        return
    try:
        from rich.console import Console

        from whyloss.render.json import loads
        from whyloss.render.trial import show as render

        render({"experiment": name, **loads(file.read_text(encoding="utf-8"))}, Console(stderr=True))
    except Exception as error:
        tell(f"the result cannot be shown: {say_why(error)}")
