"""Checks of the stage `gradients`."""
