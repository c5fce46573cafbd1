"""What the API says of how much it takes."""

from __future__ import annotations

from trainer.contracts.text_model import TextModel


class ServerLimits(TextModel):
    """Most of each."""

    max_head_bytes: int
    """Of a request's first line and headers; more is answered with 431."""
    head_deadline_s: float
    """They must be here whole within this time of a connection's begin; one that is half here is answered with 408."""
    max_body_bytes: int
    """Of a request's body, unpacked; it may be sent with gzip."""
    body_deadline_s: float
    """A request's body must be here whole within this time; one that is not is answered with 408."""
    max_nesting: int
    """Objects and lists within each other, where a body holds JSON of its writer's own: a config, an event's data."""
    max_config_bytes: int
    """Of the config of an external run, written as JSON."""
    max_count: int
    """Of a step's number and of any other whole number in a record: more, a browser could not hold exactly."""
    max_step_samples: int
    """Samples of one step: a run's total must fit in the database."""
    max_step_tokens: int
    max_rollout_text_chars: int
    """Of the prompt, the answer, and the response of a rollout."""
    max_steps_per_batch: int
    max_events_per_batch: int
    max_iterations_per_batch: int
    max_log_lines_per_batch: int
    max_checkpoints_per_batch: int
    max_query_runs: int
    """Of one query for metrics, as are the next two."""
    max_query_names: int
    max_query_points: int
    max_answer_points: int
    """Of all series that one query for metrics is answered with."""
    max_plan_lengths: int
    """Lengths listed in one plan."""
    max_planned_steps: int
    """Steps that a plan tells one by one; more are counted."""
    max_recording_batches: int
    """Batches of records at once; more are answered with 429 and Retry-After."""
    max_queued_writes: int
    """Writes that wait for the database; more are answered with 429 and Retry-After."""
    max_active_runs: int
    """Runs that go on at a time."""
