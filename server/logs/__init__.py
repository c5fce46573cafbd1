"""What the processes of runs wrote to their logs."""
