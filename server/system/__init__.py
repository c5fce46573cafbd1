"""How busy the machines of runs are."""
