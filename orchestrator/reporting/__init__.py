"""What the server is told, and how it gets there: journal, sender, logs, clock, watchdog."""
