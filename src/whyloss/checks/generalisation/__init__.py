"""Checks of the stage `generalisation`."""
