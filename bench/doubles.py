"""Two faults in one script: is the principal one named first, the other after it, and found once the first is repaired?

    python bench/doubles.py [--only DF01,DF07] [--seeds 0] [--jobs 2]

Each folder of `tests/doubles/` holds `sick.py` (both faults), `half.py` (the principal one repaired) and `healthy.py`.
"""

import argparse
import concurrent.futures
import json
import statistics
import threading
from pathlib import Path

from scoreboard import Warm

DOUBLES = Path(__file__).resolve().parent.parent / "tests" / "doubles"


def manifests(only: list[str]) -> list[tuple[Path, dict]]:
    """(folder, manifest) of every wanted double."""
    found = [(folder, json.loads((folder / "patient.json").read_text())) for folder in sorted(DOUBLES.iterdir())
             if (folder / "patient.json").exists()]
    return [(folder, manifest) for folder, manifest in found if not only or any(folder.name.startswith(o) for o in only)]


def run_double(warm: Warm, folder: Path, manifest: dict, seed: int) -> dict:
    """The three runs of one double. -> its row."""
    both = warm.run_case(manifest, "sick", folder / "sick.py", seed, 240)
    half = warm.run_case({**manifest, "accepted": manifest["then"]}, "sick", folder / "half.py", seed, 240)
    healthy = warm.run_case(manifest, "healthy", folder / "healthy.py", seed, 240)
    listed = [text.split(" ")[0] for text in both.get("others", [])]
    return {"id": folder.name, "seed": seed, "first": both.get("right", False), "second": any(c in manifest["then"] for c in listed),
            "half": half.get("right", False), "alarm": healthy.get("alarm", True), "seconds": both.get("seconds", 0.0),
            "said": f"{both.get('first')} ({both.get('status')}) then {both.get('others')}; repaired: {half.get('first')} ({half.get('status')})"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    jobs = [(*each, int(seed)) for each in manifests(list(filter(None, options.only.split(",")))) for seed in options.seeds.split(",")]
    servers = threading.local()

    def one(job: tuple) -> dict:
        if not hasattr(servers, "warm"):
            servers.warm = Warm()
        return run_double(servers.warm, *job)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(one, jobs))
    total = len(rows)
    print("| principal first | second listed after it | second found after the repair | alarms on repaired | median s |\n|---|---|---|---|---|")
    print(f"| {sum(r['first'] for r in rows)}/{total} | {sum(r['second'] for r in rows)}/{total} | {sum(r['half'] for r in rows)}/{total} "
          f"| {sum(r['alarm'] for r in rows)}/{total} | {statistics.median(r['seconds'] for r in rows):.1f} |\n")
    for row in rows:
        marks = " ".join(name if row[name] else f"no-{name}" for name in ("first", "second", "half"))
        print(f"{row['id']:<44} seed {row['seed']} {marks}{' ALARM' if row['alarm'] else ''}: {row['said']}")


if __name__ == "__main__":
    main()
