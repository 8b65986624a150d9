"""Checks of the stage `record`."""
