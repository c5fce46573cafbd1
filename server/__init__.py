"""REST API, database, live stream, run supervisor and command line."""
