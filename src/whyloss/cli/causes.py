"""`whyloss causes`: the catalogue."""

import click

from whyloss.cause import FAMILIES


@click.command("causes")
@click.option("--family", metavar="FAMILY", help=f"Only one family: {', '.join(FAMILIES)}.")
def command(family: str | None) -> None:
    """List every cause that whyloss can name."""
    from rich.table import Table

    from whyloss.causes import family as members
    from whyloss.cli.printing import console, text
    from whyloss.render.terminal import write

    out = console()
    for name in [family] if family else FAMILIES:
        entries = members(name)
        write(out, text(name, "bold"), indent=0)
        grid = Table.grid(padding=(0, 2))
        grid.add_column(min_width=36, overflow="fold")
        grid.add_column(overflow="fold")
        for entry in entries:
            grid.add_row(text(entry.id), text(entry.title))
        write(out, grid)
