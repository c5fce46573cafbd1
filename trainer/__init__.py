"""Trains a policy with Megatron-Core. Knows nothing of rollouts, runs or servers."""
