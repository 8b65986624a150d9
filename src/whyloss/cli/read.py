"""`whyloss read`: what the logs of finished (or still running) trainings say."""

import os
import sys

import click

from whyloss.cli.watching import say_why, tell


@click.command("read", short_help="Read training logs and say what their curves show.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--loss", metavar="NAME", help="The column that is the training loss.")
@click.option("--val", metavar="NAME", help="The column that is the validation loss.")
@click.option("--x", metavar="NAME", help="The axis: step, epoch, time, row or a column.")
@click.option("--function", "loss_name", metavar="NAME", help="The loss function, such as cross-entropy; gives the baseline with --classes.")
@click.option("--classes", type=click.IntRange(min=2), metavar="C", help="Number of classes: guessing costs ln C.")
@click.option("--baseline", type=float, metavar="LOSS", help="Loss of the best constant guess.")
@click.option("--floor", type=float, metavar="LOSS", help="Lowest loss that can be reached.")
@click.option("--follow", is_flag=True, help="Keep reading a log that is still written; Ctrl-C ends.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Processes for many logs.  [default: one a core]")
@click.option("--report", multiple=True, metavar="FILE", type=click.Path(), help="Write the reading to FILE: .json .html .md. Repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output in place of the report.")
@click.option("--strict", is_flag=True, help="Exit with status 1 if a run is broken.")
def command(paths, follow, jobs, report, as_json, strict, **how) -> None:
    """Read training logs and say what each curve shows, what it can and cannot mean, and which single check to run next.

    PATH is a file, a folder, a pattern or an address (s3://, https://): CSV, JSONL, trainer_state.json, TensorBoard event files, W&B, MLflow,
    trackio, DVCLive, Parquet, printed output. Several runs become a table: which are broken, since when, and which setting tells them apart.

    A curve shows a symptom, never a cause: `whyloss run train.py` finds the cause.
    """
    from whyloss.cli.reading import gather
    from whyloss.render.reading import format_of

    for path in report:
        format_of(path)
    if follow:
        from whyloss.cli.follow import follow as keep_reading

        sys.exit(keep_reading(paths, how, report, as_json=as_json, strict=strict))
    readings = gather(paths, jobs=jobs or os.cpu_count() or 1, **how)
    tell_all(readings, as_json)
    write_reports(readings, report)
    sys.exit(status(readings, paths, strict))


def tell_all(readings, as_json: bool) -> None:
    """The reading on standard output."""
    if as_json:
        from whyloss.render.reading.json import render

        click.echo(render(readings), nl=False)
        for path, why in readings.many.refused:
            tell(why if why.startswith(path) else f"{path}: {why}")
        return
    from whyloss.cli.printing import console
    from whyloss.render.reading.terminal import show

    if readings.many.rows or readings.many.refused:
        show(readings, console())


def write_reports(readings, paths) -> None:
    """Each report file; one that cannot be written is told, and the others are written all the same."""
    from whyloss.render.reading import write

    for path in paths:
        try:
            write(readings, path)
        except OSError as error:
            tell(f"report {path!r} was not written: {say_why(error)}")


def status(readings, paths, strict: bool) -> int:
    """0; 1 with --strict and a broken run; 2 if nothing could be read, or a file that was named could not."""
    refused = {path for path, _ in readings.many.refused}
    if not readings.many.rows and not refused:
        tell(f"no training log under {', '.join(paths)}")
    if not readings.many.rows or refused & set(paths):
        return 2
    return int(strict and any(row.broken for row in readings.many.rows))
