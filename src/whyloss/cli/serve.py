"""`whyloss serve`: a live page of runs in the browser, on this machine only."""

import os
import socket

import click

from whyloss.errors import BadInput


@click.command("serve", short_help="Show runs in the browser while they go on.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--port", type=click.IntRange(0, 65535), metavar="N", help="Port on 127.0.0.1; 0 takes a free one.  [default: 8765, or a free one]")
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="A proxy's name under which the page may be asked for. Repeatable.")
def command(paths, port, hosts) -> None:
    """Show the runs at PATH in the browser: side by side, as they go on, with their alerts as they come.

    PATH is the folder of a run (`whyloss run --watch FOLDER`, whyloss.Monitor(run=FOLDER)), a folder of runs, or a ledger. Runs that begin later
    appear.

    The page is served on 127.0.0.1 only and opens with the key in the address that is printed. From another machine:
    ssh -L 8765:127.0.0.1:8765 HOST. Ctrl-C ends it; the trainings do not notice.
    """
    from whyloss.live.door import check_host
    from whyloss.live.server import Served

    far = next((path for path in paths if "://" in path), None)
    if far:
        raise BadInput(f"{far}: the live page follows ledgers on this machine; `whyloss health` reads one at an address")
    try:
        served = Served(paths, port=port, hosts=[check_host(host) for host in hosts])
    except ValueError as error:
        raise BadInput(f"--allow-host: {error}") from error
    tell(served)
    try:
        served.run()
    except KeyboardInterrupt:
        pass


def tell(served) -> None:
    """Where to look, on standard output."""
    click.echo(f"whyloss serve: {served.address}", nl=True)
    if os.environ.get("SSH_CONNECTION"):
        click.echo(f"from your own machine first: ssh -L {served.port}:127.0.0.1:{served.port} {socket.gethostname()}")
    click.echo("Ctrl-C ends")
