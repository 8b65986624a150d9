"""The scoreboard: every patient and its healthy twin through `whyloss run`, one seed or several.

    python bench/scoreboard.py [--families O,L,G,I,N] [--only O01,H03] [--seeds 0] [--jobs 2] [--out bench/results.json]

A case is right when the first finding is proven or confirmed and its cause is accepted; the place is right when the
finding's line or subject is one the manifest names. An alarm is any finding above a note on a healthy program.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

PATIENTS = Path(__file__).resolve().parent.parent / "tests" / "patients"


def cases(families: set[str], only: set[str]) -> list[tuple[dict, str, Path]]:
    """(manifest, "sick" or "healthy", script) of every wanted patient."""
    found = []
    for folder in sorted(PATIENTS.iterdir()):
        manifest_file = folder / "patient.json"
        if not manifest_file.exists():
            continue
        manifest = json.loads(manifest_file.read_text())
        family = folder.name[0]
        if only and not any(folder.name.startswith(o) for o in only) or families and not only and family not in families:
            continue
        for kind in ("sick", "healthy"):
            script = folder / f"{kind}.py"
            if script.exists():
                found.append((manifest, kind, script))
    return found


def run_case(manifest: dict, kind: str, script: Path, seed: int, timeout: float) -> dict:
    """One watched run. -> a row of the scoreboard."""
    with tempfile.TemporaryDirectory() as folder:
        report_file = Path(folder) / "report.json"
        environment = {**os.environ, "SEED": str(seed), "OMP_NUM_THREADS": "1"}
        began = time.monotonic()
        try:
            done = subprocess.run([*launcher(manifest), "-m", "whyloss", "run", "--quiet", "--report", str(report_file), str(script)],
                                  cwd=folder, env=environment, capture_output=True, text=True, timeout=timeout)
            error = "" if report_file.exists() else done.stderr[-400:]
        except subprocess.TimeoutExpired:
            error = f"no end after {timeout:g} s"
        row = {"id": script.parent.name, "kind": kind, "seed": seed, "wall": round(time.monotonic() - began, 1), "error": error}
        if report_file.exists():
            row.update(score(manifest, kind, script, json.loads(report_file.read_text())))
        return row


def launcher(manifest: dict) -> list[str]:
    """What starts whyloss: Python, or torchrun with two ranks where the manifest says "launch": "torchrun"."""
    if manifest.get("launch") == "torchrun":
        return [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    return [sys.executable]


class Warm:
    """One warm process (bench/warm.py) that forks a watched child for each case."""

    def __init__(self):
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen([sys.executable, str(Path(__file__).with_name("warm.py"))], env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def run_case(self, manifest: dict, kind: str, script: Path, seed: int, timeout: float) -> dict:
        """As run_case above; scripts that start processes of their own take the command's way."""
        if manifest.get("launch") or manifest.get("family") == "distributed":
            return run_case(manifest, kind, script, seed, timeout)
        with tempfile.TemporaryDirectory() as folder:
            report_file, began = Path(folder) / "warm.json", time.monotonic()
            job = {"script": str(script), "seed": seed, "report": str(report_file), "timeout": timeout}
            self.process.stdin.write(json.dumps(job) + "\n")
            self.process.stdin.flush()
            error = json.loads(self.process.stdout.readline() or '"the warm process ended"')
            row = {"id": script.parent.name, "kind": kind, "seed": seed, "wall": round(time.monotonic() - began, 1), "error": error}
            if report_file.exists():
                row.update(score(manifest, kind, script, json.loads(report_file.read_text())))
            return row


def score(manifest: dict, kind: str, script: Path, report: dict) -> dict:
    findings = [f for f in report["findings"] if f["status"] != "note"]
    first = findings[0] if findings else None
    sure = first is not None and first["status"] in ("proven", "confirmed")
    row = {"verdict": report["verdict"], "first": first["cause"] if first else None, "status": first["status"] if first else None,
           "place": None, "seconds": report["seconds"], "others": [f"{f['cause']} ({f['status']})" for f in findings[1:4]],
           "subject": first["subject"] if first else None, "location": first["location"] if first else None,
           "naive": naive_thresholds(report)}
    if kind == "healthy":
        row["alarm"] = bool([f for f in findings if f["status"] in ("proven", "confirmed", "suspected")])
        row["sure_alarm"] = sure
    else:
        row["right"] = bool(sure and first["cause"] in manifest["accepted"])
        row["wrong_and_sure"] = bool(sure and first["cause"] not in manifest["accepted"])
        row["place"] = bool(first and right_place(manifest, script, first))
    return row


def naive_thresholds(report: dict) -> str | None:
    """What fixed limits from the tutorials would answer on the same numbers: the first rule that fires, taken as the verdict.

    NaN; loss flat over its first 100 points; update ratio outside 1e-4..1e-2; gradient norm outside .1..10 per layer;
    share of active ReLUs outside .2...7.
    """
    losses = next((c["points"]["values"] for c in report["curves"] if c["quantity"] == "loss"), [])
    if any(isinstance(v, str) for v in losses):
        return "learning-rate-too-high"
    head = losses[:100]
    if len(head) > 10 and sum(head[-5:]) / 5 > 0.95 * sum(head[:5]) / 5:
        return "step-never-called"
    for quantity, low, high, below, above in (("update_ratio", 1e-4, 1e-2, "learning-rate-too-low", "learning-rate-too-high"),
                                              ("grad_norm", 0.1, 10, "vanishing-gradients", "exploding-gradients"),
                                              ("dead_share", 0.3, 0.8, "dead-relus", "dead-relus")):
        for layer in report.get("layers", []):
            value = layer.get(quantity, [None])[0]
            if isinstance(value, float | int) and not low <= value <= high:
                return below if value < low else above
    return None


def right_place(manifest: dict, script: Path, finding: dict) -> bool:
    place = manifest.get("place", {})
    where, subject = finding.get("location"), finding.get("subject") or ""
    if where and Path(where["file"]).name == script.name and where["line"] in place.get("lines", []):
        return True
    return any(subject == name or subject.startswith(f"{name}.") or subject.endswith(f".{name}") or name.startswith(f"{subject}.") and subject
               for name in place.get("subjects", []))


def table(rows: list[dict]) -> str:
    """The scoreboard as Markdown: our row, the constant guess, then every case that is not right."""
    sick, healthy = [r for r in rows if r["kind"] == "sick"], [r for r in rows if r["kind"] == "healthy"]
    looks, twins = [r for r in healthy if r["id"].startswith("H")], [r for r in healthy if not r["id"].startswith("H")]
    seconds = [r["seconds"] for r in rows if "seconds" in r]
    lines = ["| | right first, sure | right place | wrong and sure | alarms on look-alikes | alarms on twins | healthy said | median s | worst s |",
             "|---|---|---|---|---|---|---|---|---|"]

    def share(count: int, total: int) -> str:
        return f"{count}/{total}" + (f" ({100 * count / total:.0f} %)" if total else "")

    lines.append("| whyloss | " + " | ".join([
        share(sum(r.get("right", False) for r in sick), len(sick)),
        share(sum(bool(r.get("place")) and r.get("right", False) for r in sick), len(sick)),
        share(sum(r.get("wrong_and_sure", False) for r in sick), len(sick)), share(sum(r.get("alarm", True) for r in looks), len(looks)),
        share(sum(r.get("alarm", True) for r in twins), len(twins)), share(sum(r.get("verdict") == "healthy" for r in healthy), len(healthy)),
        f"{statistics.median(seconds):.1f}" if seconds else "-", f"{max(seconds):.1f}" if seconds else "-"]) + " |")
    lines += [constant_guess(sick, healthy), naive_row(sick, looks, twins), "", *by_case(sick, healthy)]
    for r in rows:
        missed = not r.get("right") or not r.get("place") if r["kind"] == "sick" else r.get("alarm") or r.get("verdict") != "healthy"
        bad = r["error"] or missed
        if bad:
            lines.append(f"{r['id']:<36} {r['kind']:<8} {r.get('verdict')!s:<13} {r.get('first')} ({r.get('status')}) place={r.get('place')} "
                         f"at {r.get('location')} {r.get('subject')} also {r.get('others')} {r.get('seconds')}s {r['error'][-160:]}")
    return "\n".join(lines)


def by_case(sick: list[dict], healthy: list[dict]) -> list[str]:
    """With several seeds: a case counts when it is right in all of them; one alarm makes a program an alarm."""
    seeds = {r["seed"] for r in sick + healthy}
    if len(seeds) < 2:
        return []

    def every(rows: list[dict], test) -> int:
        return sum(all(test(r) for r in rows if r["id"] == case) for case in {r["id"] for r in rows})

    cases, alarmed = len({r["id"] for r in sick}), len({r["id"] for r in healthy if r.get("alarm", True)})
    right, placed = every(sick, lambda r: r.get("right")), every(sick, lambda r: r.get("right") and r.get("place"))
    wrong = len({r["id"] for r in sick if r.get("wrong_and_sure")})
    return [f"Over {len(seeds)} seeds: {right}/{cases} right in every one, {placed}/{cases} with the place, "
            f"{wrong}/{cases} wrong and sure in one or more; "
            f"{alarmed}/{len({r['id'] for r in healthy})} healthy programs with an alarm in one or more.", ""]


def naive_row(sick: list[dict], looks: list[dict], twins: list[dict]) -> str:
    """The row of the tutorials' fixed thresholds, taken as verdicts."""
    hits = sum(r.get("naive") in json.loads((PATIENTS / r["id"] / "patient.json").read_text())["accepted"] for r in sick)
    wrong = sum(r.get("naive") is not None for r in sick) - hits
    silent = sum(r.get("naive") is None for r in looks + twins)
    return (f"| fixed thresholds | {hits}/{len(sick)} | - | {wrong}/{len(sick)} | {sum(r.get('naive') is not None for r in looks)}/{len(looks)} | "
            f"{sum(r.get('naive') is not None for r in twins)}/{len(twins)} | {silent}/{len(looks + twins)} | 0 | 0 |")


def constant_guess(sick: list[dict], healthy: list[dict]) -> str:
    """The row of always answering the commonest accepted cause: what a score is worth."""
    counts = collections.Counter(json.loads((PATIENTS / r["id"] / "patient.json").read_text())["accepted"][0] for r in sick)
    if not counts:
        return ""
    cause, hits = counts.most_common(1)[0]
    looks = sum(r["id"].startswith("H") for r in healthy)
    return (f"| always {cause!r} | {hits}/{len(sick)} ({100 * hits / len(sick):.0f} %) | 0/{len(sick)} | {len(sick) - hits}/{len(sick)} | "
            f"{looks}/{looks} | {len(healthy) - looks}/{len(healthy) - looks} | 0/{len(healthy)} | 0 | 0 |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", default="")
    parser.add_argument("--only", default="")
    parser.add_argument("--kinds", default="sick,healthy")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=240)
    parser.add_argument("--out", default="")
    parser.add_argument("--warm", action="store_true", help="fork the cases from warm processes: torch is imported once")
    options = parser.parse_args()
    wanted = cases(set(filter(None, options.families.split(","))), set(filter(None, options.only.split(","))))
    jobs = [(m, k, s, int(seed)) for m, k, s in wanted if k in options.kinds for seed in options.seeds.split(",")]
    rows, servers = [], threading.local()

    def one(job: tuple) -> dict:
        if not options.warm:
            return run_case(*job, options.timeout)
        if not hasattr(servers, "warm"):
            servers.warm = Warm()
        return servers.warm.run_case(*job, options.timeout)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for row in pool.map(one, jobs):
            rows.append(row)
            print(f"{row['id']:<36} {row['kind']:<8} {row.get('first')} {row.get('status') or row.get('verdict')} {row.get('seconds')}s",
                  file=sys.stderr, flush=True)
    print(table(rows))
    if options.out:
        Path(options.out).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
