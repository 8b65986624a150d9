"""Checks of the stage `numerics`."""
