"""Checks of the stage `wiring`."""
