"""The command line: one file per command. Nothing here imports torch."""
