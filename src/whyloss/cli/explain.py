"""`whyloss explain`: one cause in full."""

import click


@click.command("explain", short_help="Explain one cause in full.")
@click.argument("cause", metavar="CAUSE")
def command(cause: str) -> None:
    """Explain one cause: what is wrong, why it happens, how to repair it, what would confirm it."""
    from whyloss.causes import cause as find
    from whyloss.cli.printing import console, text
    from whyloss.render.terminal import field, write

    entry = find(cause)
    out = console()
    write(out, text(f"{entry.id}  {entry.title}", "bold"), indent=0)
    write(out, text(entry.meaning))
    out.print()
    field(out, "why", entry.why)
    for i, remedy in enumerate(entry.remedies):
        field(out, "or" if i else "try", remedy, style="green")
    if entry.prediction:
        field(out, "experiment", f"{entry.prediction.experiment}: {entry.prediction.shows}")
    field(out, "family", entry.family)
    field(out, "source", entry.source)
