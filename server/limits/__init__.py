"""How much one request may hold or ask for."""
