"""Other people's training loops and trackers: each a file about a screen long, imported by who uses it."""
