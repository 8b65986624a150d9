"""Checks of the stage `ranks`, and what they read of the merged evidence of several processes."""

from whyloss.evidence import Evidence

APART = 1e-4   # relative distance of two ranks' weights; equal numbers give 0, another order of additions 1e-7


def replicas(evidence: Evidence, run: str) -> dict[str, dict]:
    """Facts of every set of parameters that several ranks keep alike, by its name."""
    return {name: column.last.value for name, column in evidence.by_subject("ranks_replica", run).items() if column.last.value["ranks"] > 1}


def on_purpose(fact: dict) -> bool:
    """Whether ranks may differ on purpose: weights averaged now and then (local SGD), or a communication hook of unknown kind."""
    return bool(fact["averaged"] or fact["distrusted"])


def widest(evidence: Evidence, quantity: str, name: str, run: str) -> dict | None:
    """The latest comparison of a quantity between ranks, as a row; None if there was none."""
    column = evidence.series(quantity, name, run)
    return column.last.value if column else None


def of_ranks(ranks: list[int], most: int = 4) -> str:
    """"rank 1", "ranks 1, 2 and 6 more"."""
    rest = len(ranks) - most
    return ("rank " if len(ranks) == 1 else "ranks ") + ", ".join(map(str, ranks[:most])) + (f" and {rest} more" if rest > 0 else "")
