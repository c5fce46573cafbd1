"""Runs one attempt of one run: roll out, score, cut into steps, schedule, train, record."""
