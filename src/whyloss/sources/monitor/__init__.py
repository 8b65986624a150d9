"""Watching a long training at next to no cost."""

from whyloss.sources.monitor.bucket import Cost
from whyloss.sources.monitor.monitor import Monitor

__all__ = ["Cost", "Monitor"]
