"""Reads training logs of any format: `read_runs` for what people have (files, folders, patterns, addresses), `read_one` for a worker process.

One file for each format, with `recognises(path, head)` and `read(path)`; find.py chooses among them; table.py makes runs of tables.
"""

from whyloss.sources.readers.find import Found, find_logs, read_found, read_one, read_runs, recognise

__all__ = ["Found", "find_logs", "read_found", "read_one", "read_runs", "recognise"]
