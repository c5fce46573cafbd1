"""Who changed what through the API."""
