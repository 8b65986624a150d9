"""Other tools for trainings that do not learn, on the same patients: each as its documentation says.

    make bench-peers          # or: .venv-peers/bin/python bench/peers.py [--count 24] [--only O01,H03] [--ours results.json]

bench/peers/NAME.py is one tool: how its calls are made and which of our causes each of its messages can mean (a set: the
reading is lenient). bench/peers/driver.py makes the calls from outside. A case counts when the right cause is among those
of the first message ("first") or of any message ("anywhere"); an alarm is any message of level warning or above on a healthy
program. The patients are drawn at random (--draw), twins with them, and look-alikes; programs with several processes are left out.
"""

import argparse
import importlib.metadata
import importlib.util
import json
import os
import random
import runpy
import shutil
import signal
import statistics
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import scoreboard

HERE = Path(__file__).resolve().parent / "peers"
NAMES = ["torch_audit", "traintools", "torchdiag", "torchtest2", "torchmortem", "training_doctor", "trainspotter", "losslint", "gradglass"]


def load(name):
    """The module bench/peers/NAME.py, or what kept it from being imported."""
    spec = importlib.util.spec_from_file_location(f"peer_{name}", HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return module


def child(driver_module, adapter, readers, script, seed, folder, limit):
    """The forked child: the script with the peer's calls in it. Writes result.json."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.environ["SEED"] = str(seed)
    os.chdir(folder)
    sys.argv, sys.path[0] = [script], str(Path(script).parent)
    warnings.simplefilter("ignore")
    driver, raised, began = driver_module.Driver(adapter, folder, limit), "", time.monotonic()
    driver.install()
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit:
        pass
    except BaseException as error:
        raised = f"{type(error).__name__}: {error}"[:300]
    found = driver.finish()
    result = {"raised": raised, "crashed": driver.crashed, "found": found, "wall": time.monotonic() - began, "spent": driver.spent,
              "steps": driver.iteration, "readers": {}}
    for name, reader in readers.items():
        start = time.monotonic()
        try:
            result["readers"][name] = {"found": reader.read(f"{folder}/metrics.csv"), "crashed": ""}
        except Exception as error:
            result["readers"][name] = {"found": None, "crashed": f"{type(error).__name__}: {error}"[:300]}
        result["readers"][name]["spent"] = time.monotonic() - start
    Path(folder, "result.json").write_text(json.dumps(result))


def run(driver_module, adapter, readers, script, seed, limit):
    """One script with one peer, in a forked child. -> its result"""
    folder = tempfile.mkdtemp()
    pid = os.fork()
    if pid == 0:
        try:
            child(driver_module, adapter, readers, str(script), seed, folder, limit)
        except BaseException:
            Path(folder, "error").write_text(traceback.format_exc())
        os._exit(0)
    deadline, done = time.monotonic() + 3 * limit + 10, 0
    while not done and time.monotonic() < deadline:
        done, _ = os.waitpid(pid, os.WNOHANG)
        time.sleep(0.02)
    if not done:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    answer, fault = Path(folder, "result.json"), Path(folder, "error")
    if answer.exists():
        result = json.loads(answer.read_text())
    else:
        why = fault.read_text()[-300:] if fault.exists() else "the process died" if done else "no end"
        result = {"crashed": why, "found": None, "readers": {}}
    shutil.rmtree(folder, ignore_errors=True)
    return result


def say(row):
    print(row["id"], row["kind"], row["peer"], [f["key"] for f in row["found"] or []][:6], row["crashed"][:200], row["seconds"],
          file=sys.stderr, flush=True)


def with_commands(name, adapter, group, seed):
    """The rows of one patient and its twin with a peer that is run by commands and wants a good run."""
    rows, folder, problem = [], tempfile.mkdtemp(), ""
    good = next(script for _, kind, script in group if kind == "healthy")
    try:
        adapter.prepare(good, seed, folder)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"[:300]
    for manifest, kind, script in group:
        began, found, crashed = time.monotonic(), None, problem
        try:
            found = None if problem else adapter.diagnose(script, seed, folder, kind)
        except Exception as error:
            crashed = f"{type(error).__name__}: {error}"[:300]
        rows.append({"id": script.parent.name, "kind": kind, "accepted": manifest["accepted"], "peer": name, "found": found, "crashed": crashed,
                     "seconds": time.monotonic() - began})
        say(rows[-1])
    shutil.rmtree(folder, ignore_errors=True)
    return rows


def drawn(options):
    """The programs in a random order, patients with their twins and a look-alike now and then."""
    only = set(filter(None, options.only.split(",")))
    every = [c for c in scoreboard.cases(set(), only) if c[0].get("family") != "distributed" and "launch" not in c[0]]
    sick = sorted({c[2].parent.name for c in every if not c[2].parent.name.startswith("H")})
    looks = sorted({c[2].parent.name for c in every if c[2].parent.name.startswith("H")})
    random.Random(options.draw).shuffle(sick)
    random.Random(options.draw).shuffle(looks)
    order = []
    for place, name in enumerate(sick[:options.count]):
        order += [name, *looks[place // 2:place // 2 + place % 2]]
    return [[c for c in every if c[2].parent.name == name] for name in (order if sick else looks)]


def score(rows, name, adapter, cases):
    """The figures of one peer over its rows."""
    mine = [r for r in rows if r["peer"] == name and r["id"] in cases]
    sick = [r for r in mine if r["kind"] == "sick"]
    healthy = [r for r in mine if r["kind"] == "healthy"]

    def causes(finding):
        return set(adapter.CAUSES.get(finding["key"], ()))

    def alarm(row):
        return any(f["level"] != "info" for f in row["found"] or [])

    accepted = {r["id"]: set(r["accepted"]) for r in sick}
    named = {r["id"]: [c for c in map(causes, r["found"] or []) if c] for r in sick}
    anywhere = [r for r in sick if any(c & accepted[r["id"]] for c in named[r["id"]])]
    first = [r for r in sick if r["found"] and causes(r["found"][0]) & accepted[r["id"]]]
    wrong = [r for r in sick if r not in anywhere and named[r["id"]]]
    symptom = [r for r in sick if not named[r["id"]] and alarm(r)]
    twins, looks = [r for r in healthy if r["id"][0] != "H"], [r for r in healthy if r["id"][0] == "H"]
    seconds = [r["seconds"] for r in mine if r.get("seconds") is not None]
    return [f"{len(first)}/{len(sick)}", f"{len(anywhere)}/{len(sick)}", f"{len(wrong)}/{len(sick)}", f"{len(symptom)}/{len(sick)}",
            f"{len(sick) - len(anywhere) - len(wrong) - len(symptom)}/{len(sick)}", f"{sum(map(alarm, twins))}/{len(twins)}",
            f"{sum(map(alarm, looks))}/{len(looks)}", f"{sum(bool(r['crashed']) for r in mine)}/{len(mine)}",
            f"{statistics.median(seconds):.1f}" if seconds else "-"]


def ours(file, cases):
    """The rows of whyloss, of the constant guess and of the fixed thresholds, from a scoreboard's results."""
    rows = [r for r in json.loads(Path(file).read_text()) if r["id"] in cases]
    sick, healthy = [r for r in rows if r["kind"] == "sick"], [r for r in rows if r["kind"] == "healthy"]
    manifest = {r["id"]: json.loads((scoreboard.PATIENTS / r["id"] / "patient.json").read_text())["accepted"] for r in sick}
    twins, looks = [r for r in healthy if r["id"][0] != "H"], [r for r in healthy if r["id"][0] == "H"]

    def line(said, alarm):   # said(row) -> the causes named, in order
        right = [bool(set(said(r)) & set(manifest[r["id"]])) for r in sick]
        first = [bool(said(r)) and said(r)[0] in manifest[r["id"]] for r in sick]
        silent = [not said(r) for r in sick]
        return [f"{sum(first)}/{len(sick)}", f"{sum(right)}/{len(sick)}", f"{len(sick) - sum(right) - sum(silent)}/{len(sick)}", f"0/{len(sick)}",
                f"{sum(silent)}/{len(sick)}", f"{sum(map(alarm, twins))}/{len(twins)}", f"{sum(map(alarm, looks))}/{len(looks)}"]

    common = [c for causes in manifest.values() for c in causes[:1]]
    guess = max(sorted(set(common)), key=common.count)
    seconds = statistics.median([r["seconds"] for r in rows if "seconds" in r])

    def named(row):
        return [c for c in [row.get("first"), *(other.split(" ")[0] for other in row.get("others", []))] if c]

    def naive(row):
        return [row["naive"]] if row.get("naive") else []

    crashes = f"{sum(bool(r['error']) for r in rows)}/{len(rows)}"
    return [["whyloss", "this tree", "Apache-2.0", "0", *line(named, lambda r: r.get("alarm", True)), crashes, f"{seconds:.1f}"],
            [f"always '{guess}'", "", "", "-", *line(lambda r: [guess], lambda r: True), "-", "0"],
            ["the tutorials' fixed thresholds", "", "", "-", *line(naive, lambda r: bool(naive(r))), "-", "0"]]


def table(rows, adapters, options):
    every = [n for n, a in adapters.items() if not isinstance(a, str) and a.MODE != "commands" and any(r["peer"] == n for r in rows)]
    cases = {r["id"] for r in rows}
    cases = {c for c in cases if all({r["peer"] for r in rows if (r["id"], r["kind"]) == (c, kind)} >= set(every)
                                     for kind in {r["kind"] for r in rows if r["id"] == c})}
    lines = ["| tool | version | licence | edited lines | right cause first | right anywhere | only wrong causes | only symptoms | nothing "
             "| alarms on twins | alarms on look-alikes | crashes | median s added |", "|" + "---|" * 13]
    body = ours(options.ours, cases) if options.ours else []
    for name, adapter in adapters.items():
        if isinstance(adapter, str):
            body.append([name, "", "", "", f"not run: {adapter}"] + [""] * 8)
            continue
        about = importlib.metadata.metadata(adapter.PACKAGE)
        licence = about.get("License-Expression") or about.get("License") or "?"
        held = cases if adapter.MODE != "commands" else {r["id"] for r in rows if r["peer"] == name}
        body.append([adapter.PACKAGE, about["Version"], licence, adapter.LINES, *score(rows, name, adapter, held)])
    sick = len({r["id"] for r in rows if r["kind"] == "sick" and r["id"] in cases})
    note = f"{sick} patients with their twins, {len([c for c in cases if c[0] == 'H'])} look-alikes, seed {options.seed}, drawn with {options.draw}"
    return "\n".join([note, "", *lines, *("| " + " | ".join(map(str, cells)) + " |" for cells in body)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="at most so many patients")
    parser.add_argument("--only", default="")
    parser.add_argument("--peers", default=",".join(NAMES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--draw", type=int, default=0, help="the seed of the random choice of patients")
    parser.add_argument("--limit", type=float, default=15, help="seconds after which a run is stopped; the peer reports on what it saw")
    parser.add_argument("--minutes", type=float, default=600, help="stop taking new patients after so long")
    parser.add_argument("--ours", default="", help="results JSON of bench/scoreboard.py")
    parser.add_argument("--out", default="", help="results JSON; rows already there are kept")
    options = parser.parse_args()
    import numpy  # noqa: F401  imported here so that the children find them ready
    import sklearn.datasets  # noqa: F401
    import torch
    torch.set_num_threads(1)

    driver, adapters, began = load("driver"), {n: load(n) for n in options.peers.split(",")}, time.monotonic()
    live = {n: a for n, a in adapters.items() if not isinstance(a, str)}
    rows = json.loads(Path(options.out).read_text()) if options.out and Path(options.out).exists() else []
    done = {(r["id"], r["kind"], r["peer"]) for r in rows}
    for group in drawn(options):
        if time.monotonic() - began > 60 * options.minutes:
            break
        for manifest, kind, script in group:
            about = {"id": script.parent.name, "kind": kind, "accepted": manifest["accepted"]}
            wanted = {n: a for n, a in live.items() if (about["id"], kind, n) not in done and a.MODE != "commands"}
            if not wanted:
                continue
            readers = {n: a for n, a in wanted.items() if a.MODE == "reader"}
            plain = run(driver, load("logwriter"), readers, script, options.seed, options.limit)
            for name, adapter in wanted.items():
                if adapter.MODE == "reader":
                    result = plain["readers"].get(name, {"found": None, "crashed": plain["crashed"] or "no log", "spent": None})
                    seconds = result["spent"]
                else:
                    result = run(driver, adapter, {}, script, options.seed, options.limit)
                    if result.get("raised") and not plain.get("raised"):
                        result["crashed"] = result["crashed"] or f"the script fails with it: {result['raised']}"
                    added = max(0, result.get("wall", 0) - plain.get("wall", 0))
                    seconds = None if "wall" not in result else result["spent"] if adapter.MODE == "once" else added
                rows.append({**about, "peer": name, "found": result["found"], "crashed": result["crashed"], "seconds": seconds})
                say(rows[-1])
        for name in (n for n, a in live.items() if a.MODE == "commands" and (group[0][2].parent.name, group[0][1], n) not in done):
            rows += with_commands(name, live[name], group, options.seed)
        if options.out:
            Path(options.out).write_text(json.dumps(rows, indent=1) + "\n")
    adapters.update({n: load(n) for n in sorted({r["peer"] for r in rows} - set(adapters))})
    print(table(rows, adapters, options))


if __name__ == "__main__":
    main()
