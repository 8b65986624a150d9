"""Checks of the stage `rate`."""
