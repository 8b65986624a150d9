"""Reading finished logs: which column is what, what one run shows, what many runs show together, and which single check to run next."""
