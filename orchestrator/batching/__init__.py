"""How many rollouts make a step: policies, and the size that the gradient noise scale asks for."""
