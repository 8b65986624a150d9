"""The learning rate that was asked for, in place of the one that was used."""

from whyloss.errors import CannotReplay
from whyloss.laboratory.lab import experiment
from whyloss.laboratory.sandbox import Plan


@experiment("asked-rate")
def asked_rate(lab, asks):
    """The run's own rates beside the one asked for (asks: rate)."""
    rate = asks.get("rate")
    if not rate:
        raise CannotReplay("it is not known which rate was asked for")
    changed = lab.train("asked-rate", Plan(rate=lambda step, base: rate, freeze_schedule=True))
    return lab.paired("asked-rate", f"the learning rate {rate:g} that was asked for", lab.control(), changed, rate=rate)
