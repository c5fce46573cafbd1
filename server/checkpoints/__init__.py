"""Checkpoints that runs can go on from."""
