"""Iterations and their rollouts."""
