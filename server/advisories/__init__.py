"""What is odd about a run, with the evidence and what to do."""
