"""Steps, their schedules, and which attempt they are shown from."""
