"""Checks of the stage `wiring`, and what they read from the ledger."""

from collections import Counter

from whyloss.evidence import Evidence


def calls(evidence: Evidence, kind: str, run: str) -> Counter:
    """Calls of one kind ("backward", "step", "zero", "schedule", ...) by place."""
    return Counter(evidence.fact("calls", kind, run, default={}))


def busiest(places: Counter) -> str | None:
    """The place with most calls, as "file:line"; None where no place is known."""
    known = [(place, count) for place, count in places.most_common() if ":" in place]
    return known[0][0] if known else None


def parameters(evidence: Evidence, run: str) -> list[tuple[str, dict]]:
    """(name, facts) of every parameter."""
    return [(name, row) for name, column in evidence.by_subject("parameter", run).items() for row in column.values]


def moved(evidence: Evidence, name: str, row: dict, run: str) -> bool:
    """Whether a parameter's values ever changed, whoever changed them."""
    if "moved" in row:  # known by the tensor itself: when a model is replaced, the new one may take over the old one's names
        return bool(row.get("changed", True) or row["moved"])
    return bool(row.get("changed", True)) or any(size > 0 for size in evidence.series("update_norm", name, run).values)


def optimizers(evidence: Evidence, run: str) -> dict[str, dict]:
    """Facts of every optimizer by its name."""
    return {name: column.last.value for name, column in evidence.by_subject("optimizer", run).items()}


def stepping(evidence: Evidence, run: str) -> dict[str, dict]:
    """Those optimizers that stepped."""
    return {name: facts for name, facts in optimizers(evidence, run).items() if facts.get("stepped")}


def total(evidence: Evidence, count: str, run: str) -> int:
    """Backward passes, optimizer steps, evaluations, ... of the whole run."""
    return evidence.fact("totals", run=run, default={}).get(count, 0)


def learned(evidence: Evidence, run: str, share: float = 0.0) -> bool:
    """Whether the training was seen to learn, and by at least `share` of the way to the best known floor."""
    seen = evidence.fact("learned", run=run, default={})
    return bool(seen.get("learned")) and seen.get("share", 1.0) >= share


def listed(names: list[str], most: int = 3) -> str:
    """"a, b, c and 4 more"."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def module_of(parameter: str) -> str:
    """"layers[0]" of "layers[0].weight"; a bare name stays."""
    return parameter.rsplit(".", 1)[0] if "." in parameter else parameter
