"""What a run would be before it begins, and what a step would have been otherwise.

Called by the server (`POST /plan`, `…/whatif`) and by `swell plan`. Pure: no ray, torch, http, database; the only file
it reads is a model's config.json.
"""
