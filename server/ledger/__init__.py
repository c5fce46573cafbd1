"""What became of all rollouts of a run."""
