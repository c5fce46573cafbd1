"""The events of runs."""
