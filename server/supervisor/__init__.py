"""Keeps runs going: a local Ray head, one Ray job per attempt, and a thread that reconciles both with the database."""
