"""The live stream."""
