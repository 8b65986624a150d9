"""Watching a long training at next to no cost."""

from whyloss.sources.monitor.monitor import Cost, Monitor

__all__ = ["Cost", "Monitor"]
