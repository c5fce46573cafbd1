"""The command line `swell`: a client of the REST API, and the process that serves it (`up`)."""
