"""The command `whyloss`. Commands are imported when they are used, so that starting costs nothing."""

from importlib import import_module

import click

from whyloss.errors import WhylossError

COMMANDS = {"run": "run", "read": "read", "health": "health", "diagnose": "diagnose", "serve": "serve",
            "try": "attempt", "order": "order", "causes": "causes", "explain": "explain"}


class Commands(click.Group):
    """Finds each command in its own file, and shows errors about a call to us as wrong usage (exit status 2)."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return import_module(f"whyloss.cli.{COMMANDS[name]}").command if name in COMMANDS else None

    def resolve_command(self, ctx: click.Context, args: list[str]):
        if args and args[0].endswith(".py"):
            raise click.UsageError(f"no such command {args[0]!r}; to watch a script: whyloss run {args[0]}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context):
        try:
            return super().invoke(ctx)
        except WhylossError as error:
            raise click.UsageError(str(error)) from error


@click.group(cls=Commands, context_settings={"help_option_names": ["--help"], "max_content_width": 100})
@click.version_option(package_name="whyloss", message="whyloss %(version)s")
def main() -> None:
    """Why does this training not learn? Watches an unmodified PyTorch script and ends with one confirmed cause.

    \b
    whyloss run train.py --epochs 3        watch a script
    whyloss run -m package.train           or a module
    whyloss run torchrun train.py          or a command that ends in Python
    whyloss read runs/                     read the logs of finished runs
    whyloss health run/                    the layers of a watched run, live or finished
    whyloss diagnose step.whyloss          a frozen training step, with experiments
    whyloss serve runs/                    watched runs in the browser, as they go on
    """
