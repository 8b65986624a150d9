"""Not a peer: the run that writes the log (metrics.csv) which the three log readers then read."""

MODE = "log"
