"""How much of old records is kept, and what was taken away."""
