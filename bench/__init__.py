"""Measurements against a bound or a peer, printed as ratios. Each part runs as `python -m bench.<part>`."""
