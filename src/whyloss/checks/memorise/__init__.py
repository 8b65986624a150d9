"""Checks of the stage `memorise`."""
