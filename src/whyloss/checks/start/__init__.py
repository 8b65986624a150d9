"""Checks of the stage `start`."""
