"""What the server may import of the orchestrator: the RunSpec, run states, and the messages between the two."""
