"""One step's samples on ranks and in micro-batches, part by part; `orchestrator/schedule.py` puts them together."""
