"""`whyloss order`: the fixed order of questions."""

import click


@click.command("order", short_help="Print the order in which whyloss looks.")
def command() -> None:
    """Print the order in which whyloss looks, and where each answer leads."""
    from whyloss.cli.printing import console, text
    from whyloss.diagnosis.order import STAGES
    from whyloss.render.terminal import field, write

    out = console()
    for number, stage in enumerate(STAGES, 1):
        write(out, text(f"{number} {stage.name}", "bold"), indent=0, above=number > 1)
        write(out, text(stage.question))
        for label, key in FIELDS:
            value = getattr(stage, key, None)
            if value:
                field(out, label, value)
        field(out, "then", f"{stage.on_healthy}; if something is found: {stage.on_finding}; "
                           f"if it could not be examined: {stage.on_unexamined}")


FIELDS = (("isolates", "isolates"), ("experiment", "experiment"), ("source", "source"))
