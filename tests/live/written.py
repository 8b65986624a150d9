"""Ledgers with known numbers, a process that writes one until it is killed (`python written.py FOLDER`), and a served page to ask."""

import contextlib
import http.client
import json
import math
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

SRC = Path(__file__).resolve().parent.parent.parent / "src"
sys.path.insert(0, str(SRC))

LAYERS = ("layers.0", "layers.1", "layers.2")
EVIL = "<script>alert(1)</script>"


def columns(prefix: str = "") -> list[tuple[str, str]]:
    return [("loss", "run"), ("grad_norm", "run"), ("learning_rate", "SGD.group0"),
            *[(q, f"{prefix}{name}{end}") for name in LAYERS for q, end in (("activation_std", ""), ("dead_share", ":relu"), ("grad_norm", ".weight"),
                                                                            ("weight_norm", ".weight"), ("update_ratio", ".weight"))]]


def loss(step: int) -> float:
    return 2.0 * math.exp(-step / 200) + 0.01 * math.sin(step)


def gradient(layer: int, step: int) -> float:
    return 10.0 ** (layer - 3) * (1 + step / 1000)


def numbers(step: int) -> np.ndarray:
    row = [loss(step), 0.1, 0.1 / (1 + step)]
    for at in range(len(LAYERS)):
        row += [1.0 + at, 0.1 * at, gradient(at, step), 10.0 + at, 1e-3]
    return np.array(row, np.float32)


def run(folder, *, steps=range(40), close=True, rank=0, world=1, prefix="", alert=None, pause=0.0):
    """A ledger in a folder. steps: of its frames; alert: a step at which one is told. -> the ledger, still open unless `close`"""
    from whyloss.sources.frames import FrameLedger, ledger_file

    ledger = FrameLedger(ledger_file(folder, rank, world))
    ledger.columns(columns(prefix))
    ledger.observe("rank", {"rank": rank, "world": world})
    for step in steps:
        ledger.frame(step, numbers(step), step / 10)
        if step == alert:
            tell(ledger, step)
        if pause:
            time.sleep(pause)
    ledger.flush()
    if close:
        ledger.close()
    return ledger


def tell(ledger, step: int, message: str = "layers.0 had a gradient of exactly zero") -> None:
    """An alert, as a Monitor writes one."""
    ledger.event(step, "gradient-zero", {"kind": "gradient-zero", "step": step, "subject": "layers.0", "value": 0.0,
                                         "expected": "a gradient, as other layers have", "message": message})


@contextlib.contextmanager
def writing(folder):
    """A process that goes on writing a ledger; killed -9 at the end if it was not before."""
    process = subprocess.Popen([sys.executable, __file__, str(folder)], env={**os.environ, "PYTHONPATH": str(SRC)})
    try:
        until(lambda: any(Path(folder).glob("*.db")))
        yield process
    finally:
        process.kill()
        process.wait()


def until(what, seconds: float = 20.0):
    """Wait for something to be true. -> it"""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen in time")


class Serving:
    """A live page in a thread of this process."""

    def __init__(self, *paths, **how):
        from whyloss.live.server import Served

        self.served = Served(paths, port=0, **how)
        self.thread = threading.Thread(target=self.served.run)

    def __enter__(self) -> "Serving":
        self.thread.start()
        until(lambda: self.served.ready)
        return self

    def __exit__(self, *error) -> None:
        self.served.stop()
        self.thread.join(10)
        assert not self.thread.is_alive()

    def ask(self, path: str, *, method: str = "GET", host: str | None = None, key: bool = True, **headers):
        """-> status, headers, body. key: with the cookie that the key is exchanged for"""
        asking = http.client.HTTPConnection("127.0.0.1", self.served.port, timeout=10)
        with contextlib.closing(asking):
            asking.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            asking.putheader("Host", f"127.0.0.1:{self.served.port}" if host is None else host)
            if key:
                asking.putheader("Cookie", self.cookie)
            for name, value in headers.items():
                asking.putheader(name.replace("_", "-"), value)
            asking.endheaders()
            answer = asking.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()

    @property
    def cookie(self) -> str:
        _, headers, _ = self.ask(f"/?key={self.served.key}", key=False)
        return next(value for name, value in headers.items() if name.lower() == "set-cookie").split(";")[0]

    def json(self, path: str) -> dict:
        status, _, body = self.ask(path)
        assert status == 200, body
        return json.loads(body, parse_constant=_no_constant)

    def runs(self) -> dict:
        """Name -> row of the table, as it is now."""
        return {row["name"]: row for row in self.json("/state")["runs"]}

    @contextlib.contextmanager
    def stream(self):
        """The stream of events: an iterator over (event, data)."""
        asking = http.client.HTTPConnection("127.0.0.1", self.served.port, timeout=30)
        with contextlib.closing(asking):
            asking.request("GET", "/events", headers={"Cookie": self.cookie, "Accept": "text/event-stream"})
            answer = asking.getresponse()
            assert answer.status == 200 and answer.getheader("content-type").startswith("text/event-stream")
            yield _events(answer)


def _events(answer):
    event = None
    for line in answer:
        name, _, value = line.decode("ascii").rstrip("\n").partition(": ")
        if name == "event":
            event = value
        elif name == "data":
            yield event, json.loads(value, parse_constant=_no_constant)


def _no_constant(name):
    raise AssertionError(f"{name} is no JSON")


if __name__ == "__main__":
    run(sys.argv[1], steps=range(10**9), pause=0.02)
