"""The size that steps have under `batch: adaptive`: measures each step's noise and remembers what was decided.

The loop tells it of every step of reinforcement and asks it for the size of the next cut. What is decided, and why,
`batch_controller.py` knows.
"""

from __future__ import annotations

from orchestrator.batching.batch_controller import ControllerState, decide, initial_state
from orchestrator.batching.noise_scale import estimate_noise, lacks_gradient, noise_metrics
from orchestrator.contracts.batch_spec import AdaptiveBatchSpec
from orchestrator.contracts.messages import BatchDecision
from orchestrator.step_message import TrainedStep
from trainer.contracts.metric import Metric


class AdaptiveSize:
    """The controller's state over one attempt."""

    def __init__(self, spec: AdaptiveBatchSpec, state: ControllerState | None = None) -> None:
        """state: where an earlier attempt stopped."""
        self._spec = spec
        self._state = state or initial_state(spec)

    @property
    def state(self) -> ControllerState:
        return self._state

    @property
    def size(self) -> int | None:
        """Rollouts of the next cut's steps; None: everything that an iteration kept."""
        return self._state.size

    def observe(self, trained: TrainedStep) -> tuple[BatchDecision, dict[str, Metric]]:
        """Take a step into account; returns what was decided and `noise/…`, both for the step's record."""
        estimate = estimate_noise(trained.record.noise, trained.schedule)
        self._state, decision = decide(
            self._spec,
            self._state,
            estimate=estimate,
            num_rollouts=trained.num_rollouts,
            has_gradient=not lacks_gradient(trained.record.noise),
        )
        return decision, noise_metrics(estimate, self._state.noise)
