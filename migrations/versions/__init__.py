"""The migrations, oldest first by their dated names."""
