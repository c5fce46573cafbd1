"""Tables, connections, the one writer, and migrations."""
