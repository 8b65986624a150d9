"""Watched runs from one warm process: torch is imported once, each case is a forked child. Same observations, same diagnosis.

Reads one JSON object a line ({"script", "seed", "report", "timeout"}), answers one line ("" or what went wrong) each. The
report is the one `whyloss run` writes; only the import of torch and the parent process of the command are saved.
"""

import json
import os
import runpy
import signal
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path


def child(script: str, seed: int, report: str) -> None:
    """The forked child: watch, run, diagnose, write the report."""
    from whyloss.cli.finish import finish
    from whyloss.sources import place
    from whyloss.sources.watch import Watch

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.environ["SEED"] = str(seed)
    os.chdir(tempfile.mkdtemp(dir=Path(report).parent))
    sys.argv = [script]
    sys.path[0] = str(Path(script).parent)
    warnings.simplefilter("ignore")
    watch = Watch().start()
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit:
        pass
    except BaseException as error:
        last, trace = None, error.__traceback__
        while trace is not None:
            if place.is_user_file(trace.tb_frame.f_code.co_filename) and trace.tb_frame.f_code.co_filename == script:
                last = f"{place.shown(script)}:{trace.tb_lineno}"
            trace = trace.tb_next
        watch.observe("raised", {"type": type(error).__name__, "message": str(error)[:300], "place": last})
    watch.stop()
    finish(watch, {"report": report}, Path(report).parent)
    kept = Path(report).parent / "report.json"
    if not Path(report).exists() and kept.exists():
        kept.rename(report)


def main() -> None:
    import numpy  # noqa: F401  imported here so that the children find them ready
    import sklearn.datasets  # noqa: F401
    import torch
    import torch.utils.data  # noqa: F401

    torch.set_num_threads(1)
    for line in sys.stdin:
        job = json.loads(line)
        pid = os.fork()
        if pid == 0:
            status = 0
            try:
                child(job["script"], job["seed"], job["report"])
            except BaseException:
                Path(job["report"] + ".error").write_text(traceback.format_exc())
                status = 1
            os._exit(status)
        deadline, done = time.monotonic() + job["timeout"], 0
        while not done and time.monotonic() < deadline:
            done, _ = os.waitpid(pid, os.WNOHANG)
            time.sleep(0.02)
        if not done:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        problem = "" if done else f"no end after {job['timeout']:g} s"
        fault = Path(job["report"] + ".error")
        print(json.dumps(problem or (fault.read_text()[-400:] if fault.exists() else "")), flush=True)


if __name__ == "__main__":
    main()
