"""The geometry that a run would have, and that a step would have had: asked over HTTP, answered by the orchestrator."""
