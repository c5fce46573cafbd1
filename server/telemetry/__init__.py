"""What the server tells of itself: figures for Prometheus, logs as JSON lines, and an id for each request."""
