"""From prompts to judged, compared and recorded rollouts."""
