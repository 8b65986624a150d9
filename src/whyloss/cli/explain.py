"""`whyloss explain`: one cause in full."""

import click


@click.command("explain", short_help="Explain one cause in full.")
@click.argument("cause", metavar="CAUSE")
def command(cause: str) -> None:
    """Explain one cause: what is wrong, why it happens, how to repair it, what would confirm it.

    The label of a curve (flat-from-start) is explained too.
    """
    from whyloss.causes import CAUSES
    from whyloss.causes import cause as find
    from whyloss.causes.labels import LABELS
    from whyloss.cli.printing import console, text
    from whyloss.render.terminal import field, write

    out = console()
    if cause in LABELS and cause not in CAUSES:
        write(out, text(f"{cause}  label of a curve: a symptom, not a cause", "bold"), indent=0)
        write(out, text(LABELS[cause]))
        return
    entry = find(cause)
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
