"""Checks of the stage `initialisation`."""
