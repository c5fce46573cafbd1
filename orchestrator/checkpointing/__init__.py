"""Where a run stands, on disk, so that a later attempt goes on from it."""
