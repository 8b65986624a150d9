"""Checks of the stage `shapes`."""
