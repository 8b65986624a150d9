"""A captured training step as a file: written while a training runs, read later, elsewhere, on a CPU."""
