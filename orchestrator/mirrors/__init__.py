"""Copies of a run's steps in trackers of others. A mirror that fails, hangs or is slow costs the run nothing."""
