"""Serves the live page on the loopback interface of this machine, and nowhere else."""

import socket

from whyloss.errors import BadInput
from whyloss.live.door import PARAMETER, new_key

PORT = 8765        # where nothing else is asked for and it is free
PATIENCE = 2       # seconds for open pages at the end


def bind(port: int | None) -> socket.socket:
    """A listening place on 127.0.0.1. port: None takes the usual one, or any that is free. Raises BadInput if it is taken."""
    for wanted in [port] if port is not None else [PORT, 0]:
        made = socket.socket()
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind(("127.0.0.1", wanted))
            made.listen(128)
            return made
        except (OSError, OverflowError) as error:
            made.close()
            failed = error
    raise BadInput(f"port {port} of this machine cannot be used: {failed}; leave --port out, and a free one is taken") from failed


class Served:
    """The live page of the runs at `paths`. address: what to open, the key in it."""

    def __init__(self, paths, *, port: int | None = None, hosts=()):
        try:
            import uvicorn

            from whyloss.live.app import build
        except ImportError as error:
            raise BadInput(f'the live page needs a web server, which is not installed ({error}): pip install "whyloss[serve]"') from error
        from whyloss.live.watch import Watch

        self.key, self.watch = new_key(), Watch(paths)
        self._socket = bind(port)
        self.port = self._socket.getsockname()[1]
        app = build(self.watch, self.key, hosts, lambda: self._server.should_exit)
        self._server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False, server_header=False, proxy_headers=False, ws="none",
                                                     lifespan="on", timeout_graceful_shutdown=PATIENCE))

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/?{PARAMETER}={self.key}"

    @property
    def ready(self) -> bool:
        """Whether pages can be asked for."""
        return self._server.started

    def run(self) -> None:
        """Until Ctrl-C, or `stop` in another thread."""
        self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        self._server.should_exit = True
