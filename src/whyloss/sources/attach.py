"""Inside the watched process: waits for torch, watches, and at the end diagnoses and writes the report."""

import atexit
import contextlib
import importlib
import json
import os
import signal
import sys
from pathlib import Path

HURRIED = 15.0    # seconds for experiments in a process that its owner ends soon

_state: dict = {}


def arm() -> None:
    """Called by the bootstrap at start-up; nothing happens until the script imports torch."""
    import wrapt

    session = Path(os.environ["WHYLOSS_SESSION"])
    settings = json.loads(os.environ.get("WHYLOSS_SETTINGS", "{}"))
    _state.update(session=session, settings=settings, pid=os.getpid())
    wrapt.register_post_import_hook(_torch_is_here, "torch")


def _torch_is_here(torch) -> None:
    if _state.get("watch") is not None or os.getpid() != _state["pid"]:
        return
    try:
        _monitor() if _state["settings"].get("watch") else _watch()
    except Exception as error:  # watching must never keep a script from starting
        print(f"whyloss: not watching: {type(error).__name__}: {error}", file=sys.stderr)


def _monitor() -> None:
    """Only watch, at next to no cost: no report, a ledger in the user's folder."""
    from multiprocessing.util import Finalize

    from whyloss.sources.unasked import Watching, summary

    watching = _state["watch"] = Watching(Path(_state["settings"]["watch"]), freeze=bool(_state["settings"].get("freeze")))

    def over() -> None:
        if os.getpid() not in watching.processes:
            return
        watching.close()
        file = _state["session"] / "message.txt"
        with contextlib.suppress(OSError):  # the session's folder is gone with a parent that was killed
            if watching.first_rank or not file.exists():  # of several processes the first rank speaks
                file.write_text(summary(watching), encoding="utf-8")

    def at_exit() -> None:
        over()
        _as_interrupted()

    watching.forked = lambda: Finalize(None, over, exitpriority=0)  # a forked child leaves without atexit
    atexit.register(at_exit)


def _watch() -> None:
    from whyloss.sources.ledger import Ledger
    from whyloss.sources.watch import Watch

    watch = Watch(steps=_state["settings"].get("steps"))
    watch.ledger = Ledger(_state["session"])
    watch.ranks.folder = Path(os.environ.get("WHYLOSS_RANKS") or _state["session"])
    watch.ranks.on_group, watch.ranks.on_end = _group_is_formed, _script_is_over
    _state["watch"] = watch.start()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=watch.fork)
    _note_exceptions(watch)
    atexit.register(_at_exit)


def _group_is_formed() -> None:
    """A process group was formed: a forked child that joins one is no loader of data but a rank that trains."""
    if os.getpid() == _state["pid"]:
        return
    from multiprocessing.util import Finalize

    _state.pop("watch").patches.remove()
    _state["pid"] = os.getpid()
    _torch_is_here(sys.modules["torch"])
    Finalize(None, _script_is_over, exitpriority=0)  # a forked child leaves without atexit


def _note_exceptions(watch) -> None:
    """What ended the script is an observation; its traceback is shown as it would have been."""
    previous = sys.excepthook

    def hook(kind, error, trace):
        from whyloss.sources import place
        last = None
        while trace is not None:
            if place.is_user_file(trace.tb_frame.f_code.co_filename):
                last = f"{place.shown(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
            trace = trace.tb_next
        watch.observe("raised", {"type": kind.__name__, "message": str(error)[:300], "place": last})
        previous(kind, error, error.__traceback__)

    sys.excepthook = hook


def _at_exit() -> None:
    _script_is_over()
    _as_interrupted()


def _as_interrupted() -> None:
    """Python ends by SIGINT after a KeyboardInterrupt that nobody caught, unless a text was executed since; we may have. The same once more."""
    if getattr(sys, "last_type", None) is KeyboardInterrupt:
        with contextlib.suppress(KeyboardInterrupt):
            exec("raise KeyboardInterrupt")


def _script_is_over() -> None:
    watch = _state.get("watch")
    if watch is None or os.getpid() != _state["pid"]:
        return
    _state["watch"] = None  # once
    if watch.patches.elsewhere:  # its owner, Ray Train, say, ends the process within half a minute
        _state["settings"]["budget"] = min(HURRIED, _state["settings"].get("budget", HURRIED))
    trained = watch.window_count or watch.step_count or watch.program.modules or any(
        map(watch.evidence.has, ("gradient_free_loss", "functional_grad")))
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    watch.stop()
    watch.ledger.close()
    if not trained:
        if watch.errors:
            with contextlib.suppress(OSError):
                (_state["session"] / "message.txt").write_text(f"nothing was watched: an error of whyloss: {watch.errors[0]}", encoding="utf-8")
        return
    with contextlib.suppress(Exception):
        watch.ranks.close()
    if watch.ranks.rank:
        return  # rank 0 reads every rank's file and reports
    try:
        _report(watch, _state["settings"])
    except Exception as error:  # a full disk, a fault of ours: the script's own end must stay what it is
        with contextlib.suppress(Exception):
            print(f"whyloss: no report: {type(error).__name__}: {error}", file=sys.stderr)


def _report(watch, settings: dict) -> None:
    """Diagnose. Ctrl-C ends the experiments, not the report."""
    from whyloss.sources.gather import gather

    room, name = settings.get("finish", "whyloss.cli.finish:finish").split(":")
    finish = getattr(importlib.import_module(room), name)
    with contextlib.suppress(ValueError, OSError):
        signal.signal(signal.SIGINT, signal.default_int_handler)
    with _silence():
        try:
            gather(watch.ranks.folder, watch.evidence)
            finish(watch, settings, _state["session"])
        except KeyboardInterrupt:
            finish(watch, {**settings, "experiments": False}, _state["session"])


@contextlib.contextmanager
def _silence():
    """What the user's model prints while it is replayed is not the script's output."""
    import warnings
    with open(os.devnull, "w") as nowhere, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out, err = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = nowhere
        try:
            yield
        finally:
            sys.stdout, sys.stderr = out, err
