"""The whole record of a run as a file."""
