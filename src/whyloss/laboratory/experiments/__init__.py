"""One file per experiment, or per family of the same change."""
