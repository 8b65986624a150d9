"""How far the live page is behind the ledger, what it takes, and whether the training keeps its budget.

    python bench/live.py [--seconds 60] [--only delay,load]

delay   a real training under a Monitor with the default budget, `whyloss serve` beside it and a Chromium that looks: the time from a
        frame's commit, as the writer saw it, to the row of the table and to the picture of the loss; then the same training unwatched by pages.
load    50 runs of 100 columns, written about once a second each, and 20 clients that follow the stream and ask for two runs' pictures as
        the page does: delays over all clients, memory and processor time of the server.
Prints a table; exit status 1 if a delay is above 2 s or the training's own cost above its budget.
"""

import argparse
import contextlib
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))
BUDGET, LATE = 0.01, 2.0      # share of the step time, which the first sample exceeds for a while; seconds
RUNS, CLIENTS, COLUMNS, EACH = 50, 20, 100, 2
GAP = 0.8                     # seconds between two pictures of a run, as on the page
TRAINING = """
import json, sys, time, torch, whyloss
from torch import nn
from whyloss.sources import frames
torch.manual_seed(0)
torch.set_num_threads(1)
commits, plain = [], frames.FrameLedger._flush
def flush(self):
    waiting = self._frames[-1][2] if self._frames else None
    plain(self)
    if waiting is not None and not self._frames:
        commits.append((waiting, time.time()))
frames.FrameLedger._flush = flush
model = nn.Sequential(*[layer for _ in range(3) for layer in (nn.Linear(512, 512), nn.ReLU())], nn.Linear(512, 10))
x, y = torch.randn(4096, 512), torch.randint(0, 10, (4096,))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
end, steps, began = time.time() + float(sys.argv[2]), 0, time.time()
with whyloss.Monitor(model, optimizer, run=sys.argv[1]) as monitor:
    while time.time() < end:
        at = torch.randint(0, len(x), (512,))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[at]), y[at]).backward()
        optimizer.step()
        steps += 1
cost = monitor.cost
print(json.dumps({"commits": commits, "share": cost.share, "steps": steps, "rate": steps / (time.time() - began), "problem": monitor.problem}))
"""
WATCHED = """() => {
    window.seen = {row: {}, picture: {}};
    const note = (kind, step) => { if (step && !(step in window.seen[kind])) window.seen[kind][step] = Date.now() / 1000; };
    setInterval(() => { note("row", document.querySelector("#runs tr").cells[3].innerText);
                        note("picture", document.querySelector(".run .loss").dataset.step); }, 10);
}"""


def training(folder, seconds: float) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", TRAINING, str(folder), str(seconds)], stdout=subprocess.PIPE, text=True,
                            env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"})


@contextlib.contextmanager
def serving(folder):
    """`whyloss serve` as a process. -> (address with its key, process)"""
    process = subprocess.Popen([sys.executable, "-m", "whyloss", "serve", str(folder), "--port", "0"], stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "PYTHONPATH": str(ROOT / "src")})
    try:
        yield process.stdout.readline().split()[-1], process
    finally:
        process.terminate()
        process.wait(10)


def used(pid: int) -> tuple[float, float]:
    """(seconds of processor time, largest resident MiB) of a process so far."""
    ticks = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    peak = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"), int(peak.split()[1]) / 1024


def said(name: str, values) -> str:
    return f"{name:<44}{np.median(values):>8.2f}{np.percentile(values, 95):>8.2f}{max(values):>8.2f}{len(values):>8}"


# ---------------------------------------------------------------------- one training, one browser
def delay(seconds: float) -> bool:
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory(prefix="whyloss-bench-") as folder, serving(folder) as (address, server), sync_playwright() as playwright:
        alone = json.loads(training(Path(folder, "unseen"), seconds).communicate()[0])
        shutil.rmtree(Path(folder, "unseen"))
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.goto(address)
        process = training(Path(folder, "a"), seconds)
        page.wait_for_selector(".run .loss.drawn", timeout=60_000)
        before = used(server.pid)[0], time.monotonic()
        page.evaluate(WATCHED)
        while process.poll() is None:
            page.wait_for_timeout(200)
        busy = (used(server.pid)[0] - before[0]) / (time.monotonic() - before[1])
        page.wait_for_timeout(2500)
        watched, seen, memory = json.loads(process.stdout.read()), page.evaluate("window.seen"), used(server.pid)[1]
        browser.close()
    found = {}
    print(f"{'seconds behind the commit':<44}{'median':>8}{'95 %':>8}{'worst':>8}{'frames':>8}")
    for kind, name in (("row", "row of the table"), ("picture", "picture of the loss")):
        steps = sorted((int(step), when) for step, when in seen[kind].items())
        first = steps[0][0] if steps else 0
        # a commit is on the page once the page shows its step or a later one
        found[kind] = [next((when for step, when in steps if step >= wanted), float("inf")) - when_written
                       for wanted, when_written in watched["commits"] if wanted > first]
        print(said(name, found[kind]))
    print(f"training: {watched['rate']:.0f} steps a second, {alone['rate']:.0f} without a page open; its watching {100 * watched['share']:.2f} % of "
          f"a step, {100 * alone['share']:.2f} % without; server {100 * busy:.1f} % of a core, {memory:.0f} MiB; problem: {watched['problem']}")
    return max(map(max, found.values())) < LATE and watched["share"] < 1.15 * BUDGET and not watched["problem"]


# ---------------------------------------------------------------------- many runs, many clients
def write(folder: str, seconds: float) -> None:
    """All runs, in one process: five frames a second each, flushed about once a second."""
    from whyloss.sources.frames import FrameLedger, ledger_file

    ledgers = [FrameLedger(ledger_file(Path(folder, f"run-{number:02d}"))) for number in range(RUNS)]
    names = [f"layers.{at}" for at in range((COLUMNS - 2) // 4)]
    columns = [("loss", "run"), ("learning_rate", "SGD.group0"),
               *[(q, f"{name}{end}") for name in names for q, end in (("activation_std", ""), ("grad_norm", ".weight"), ("weight_norm", ".weight"),
                                                                      ("update_ratio", ".weight"))]]
    for ledger in ledgers:
        ledger.columns(columns)
    values, end, step = np.ones(len(columns), np.float32), time.monotonic() + seconds, 0
    for ledger in ledgers:  # each with a past
        for past in range(2000):
            ledger.frame(past, values * np.float32(1 + 0.001 * past), past)
    step = 2000
    while time.monotonic() < end:
        began = time.monotonic()
        for ledger in ledgers:
            values[0] = 1 + step % 7
            ledger.frame(step, values, step)
        step += 1
        time.sleep(max(0.0, 0.2 - (time.monotonic() - began)))
    for ledger in ledgers:
        ledger.close()


class Client(threading.Thread):
    """Follows the stream and asks for the pictures of two runs, as the page does."""

    def __init__(self, number: int, address: str, end: float):
        super().__init__(daemon=True)
        self.number, self.end = number, end
        self.host, _, self.key = address.removeprefix("http://").partition("/?key=")
        self.told: list[float] = []
        self.drawn: list[float] = []
        self.wanted: dict[str, dict] = {}
        self.bytes = 0
        self.problem = None

    def run(self) -> None:
        try:
            drawing = threading.Thread(target=self.draw, daemon=True)
            asking = http.client.HTTPConnection(self.host, timeout=60)
            asking.request("GET", f"/events?key={self.key}")
            answer, started = asking.getresponse(), False
            for line in answer:
                if time.monotonic() > self.end:
                    break
                if not line.startswith(b"data: "):
                    continue
                news, now = json.loads(line[6:]), time.time()
                self.told += [now - row["wrote"] for row in news["runs"] if row["kind"] == "running"] if not news["first"] else []
                for row in news["runs"]:
                    if int(row["name"][-2:]) % (RUNS // EACH) == self.number and row["kind"] == "running":
                        self.wanted[row["id"]] = row
                if not started and self.wanted:
                    started = True
                    drawing.start()
        except Exception as error:
            self.problem = repr(error)

    def draw(self) -> None:
        asking = http.client.HTTPConnection(self.host, timeout=60)
        shown: dict[str, int] = {}
        while time.monotonic() < self.end:
            began = time.monotonic()
            for id, row in list(self.wanted.items()):
                if row["version"] != shown.get(id):
                    asking.request("GET", f"/pictures?run={id}&key={self.key}", headers={"Accept-Encoding": "gzip"})
                    body = asking.getresponse().read()
                    self.bytes += len(body)
                    if id in shown:
                        self.drawn.append(time.time() - row["wrote"])
                    shown[id] = row["version"]
            time.sleep(max(0.01, GAP - (time.monotonic() - began)))


def load(seconds: float) -> bool:
    with tempfile.TemporaryDirectory(prefix="whyloss-bench-") as folder:
        writer = subprocess.Popen([sys.executable, __file__, "--write", folder, str(seconds + 25)])
        with serving(folder) as (address, server):
            time.sleep(15)  # the runs get their past
            end = time.monotonic() + seconds
            clients = [Client(number, address, end) for number in range(CLIENTS)]
            before = used(server.pid)[0], time.monotonic()
            for client in clients:
                client.start()
            for client in clients:
                client.join(seconds + 60)
            spent, memory = used(server.pid)
            busy = (spent - before[0]) / (time.monotonic() - before[1])
        writer.terminate()
        writer.wait()
    told, drawn = ([value for client in clients for value in getattr(client, name)] for name in ("told", "drawn"))
    problems = [client.problem for client in clients if client.problem]
    print(f"{f'{RUNS} runs, {CLIENTS} clients: seconds behind':<44}{'median':>8}{'95 %':>8}{'worst':>8}{'times':>8}")
    print(said("rows of the table", told))
    print(said("pictures", drawn))
    sent = sum(client.bytes for client in clients) / seconds / 1e6
    print(f"server {100 * busy:.0f} % of a core, {memory:.0f} MiB; {sent:.2f} MB a second in pictures; "
          f"problems: {problems or 'none'}")
    return max(told) < LATE and np.percentile(drawn, 95) < LATE and not problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--only", default="delay,load")
    parser.add_argument("--write", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.write:
        write(chosen.write[0], float(chosen.write[1]))
        return 0
    good = [{"delay": delay, "load": load}[name](chosen.seconds) for name in chosen.only.split(",")]
    return int(not all(good))


if __name__ == "__main__":
    sys.exit(main())
