"""Metrics over steps, samples, tokens or time."""
