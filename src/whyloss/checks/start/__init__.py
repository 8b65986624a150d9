"""Checks of the stage `start`, and what they read from the ledger."""

from whyloss.evidence import Evidence

ELEMENTWISE = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
CLASSES = ("cross_entropy", "nll_loss", "nll_loss_nd")


def loss_calls(evidence: Evidence, run: str) -> list[tuple[str, dict, list[dict]]]:
    """(place, first call, all calls) of each loss function call that the loss depends on."""
    columns = evidence.by_subject("loss_call", run)
    return [(place, column.values[0], column.values) for place, column in columns.items() if column.values[0].get("counts", True)]


def losses(evidence: Evidence, run: str) -> list[tuple[str, dict, list[dict]]]:
    """`loss_calls`, and losses written by hand in the same form (marked `written`)."""
    columns = evidence.by_subject("loss_written", run)
    return loss_calls(evidence, run) + [(place, column.values[0], column.values) for place, column in columns.items()]


def learned(evidence: Evidence, run: str) -> bool:
    """Whether the training was seen to learn."""
    return bool((evidence.fact("learned", run=run) or {}).get("learned"))


def normalised_axis(call: dict) -> tuple[int, int] | None:
    """(axis, its length) over which the softmax in front of a loss normalises, or None where it is not known."""
    shape, dim = call.get("producer_shape"), call.get("producer_dim")
    if not shape or not isinstance(dim, int) or not -len(shape) <= dim < len(shape):
        return None
    return dim % len(shape), shape[dim]


def source_of(call: dict) -> str:
    """The module (or the function) that made the prediction."""
    return call.get("producer_module") or call.get("producer") or "output"


def size(shape) -> str:
    """"(64, 10)"."""
    return "(" + ", ".join(map(str, shape or ())) + ("," if len(shape or ()) == 1 else "") + ")"
