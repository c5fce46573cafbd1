"""Builders and Hypothesis strategies for the pure modules: samples, groups, layouts, and the shared cases."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from orchestrator.contracts.rollout import Completion, Group, Prompt, Rollout
from orchestrator.contracts.schedule_spec import Balance, Packer
from orchestrator.cost_model import CostModel
from orchestrator.geometry import StepGeometry
from orchestrator.sample_shape import SampleShape
from trainer.contracts.certificate import LossAggregation

CASES = Path(__file__).parents[1] / "cases"
COST_MODEL = CostModel(linear=1.0, quadratic=0.01)


def case(file: str, case_id: str) -> Any:
    """One case of tests/cases/<file>.json."""
    cases = json.loads((CASES / f"{file}.json").read_text(encoding="utf8"))["cases"]
    return next(entry for entry in cases if entry["id"] == case_id)


def sample_shapes(
    lengths: Sequence[int],
    *,
    rollouts: Sequence[object] | None = None,
    groups: Sequence[object] | None = None,
    num_loss_tokens: Sequence[int] | None = None,
) -> list[SampleShape]:
    """Samples of these lengths; by default each is a rollout and a group of its own, and every token has a loss."""
    owners = rollouts or range(len(lengths))
    return [
        SampleShape(
            sample_id=f"s{i}",
            rollout_id=f"r{owner}",
            group_id=f"g{(groups or owners)[i]}",
            num_tokens=length,
            num_loss_tokens=(num_loss_tokens or lengths)[i],
        )
        for i, (length, owner) in enumerate(zip(lengths, owners, strict=True))
    ]


def group(rewards: Sequence[float | None], *, group_id: str = "g0") -> Group:
    completion = Completion(
        token_ids=np.zeros(1, dtype=np.int64),
        log_probs=np.zeros(1, dtype=np.float32),
        truncated=False,
        policy_version=0,
    )
    prompt = Prompt(prompt_id=group_id, text="1+1", token_ids=(1, 2, 3), answer="2", task="sum", entry={})
    rollouts = tuple(
        Rollout(rollout_id=f"{group_id}/{k}", completion=completion, text="2", reward=reward)
        for k, reward in enumerate(rewards)
    )
    return Group(group_id=group_id, prompt=prompt, rollouts=rollouts)


@st.composite
def shapes_of_an_iteration(draw: st.DrawFn, *, most_rollouts: int = 40) -> list[SampleShape]:
    """Rollouts of 1 to 9 samples in groups, lengths from 1 to 10⁵ with a heavy tail, some samples masked altogether."""
    counts = draw(st.lists(st.integers(1, 9), min_size=1, max_size=most_rollouts))
    owners = [rollout for rollout, count in enumerate(counts) for _ in range(count)]
    tail = draw(st.sampled_from([10, 1_000, 100_000]))
    length = st.integers(1, 10) | st.integers(1, tail)
    lengths = draw(st.lists(length, min_size=len(owners), max_size=len(owners)))
    masked = draw(st.lists(st.floats(0, 1), min_size=len(owners), max_size=len(owners)))
    group_size = draw(st.integers(1, 4))
    return sample_shapes(
        lengths,
        rollouts=owners,
        groups=[owner // group_size for owner in owners],
        num_loss_tokens=[int(length * share) for length, share in zip(lengths, masked, strict=True)],
    )


def step_geometry(**changes: Any) -> StepGeometry:
    """One rank with a cap of 10 tokens, unless told otherwise."""
    cap = {} if "micro_batch_size" in changes else {"token_cap": 10}
    return StepGeometry(**({"dp_size": 1} | cap | changes))


@st.composite
def geometries(draw: st.DrawFn) -> StepGeometry:
    """Every kind of layout and cut; the cap may be below the longest sample."""
    cut = draw(
        st.fixed_dictionaries({"token_cap": st.integers(1, 50) | st.integers(1, 200_000)})
        | st.fixed_dictionaries({"micro_batch_size": st.integers(1, 9)})
    )
    return StepGeometry(
        dp_size=draw(st.integers(1, 8) | st.integers(1, 64)),
        packer=draw(st.sampled_from(Packer)),
        balance=draw(st.sampled_from(Balance)),
        cp=draw(st.integers(1, 4)),
        pp=draw(st.integers(1, 4)),
        vpp=draw(st.integers(1, 2)),
        **cut,
    )


def cost_models() -> st.SearchStrategy[CostModel]:
    return st.sampled_from([COST_MODEL, CostModel(linear=3.0, quadratic=0.0)])


def aggregations() -> st.SearchStrategy[dict[str, Any]]:
    """Arguments that say how the loss is aggregated."""
    return st.builds(
        lambda loss_aggregation, constant_tokens: {
            "loss_aggregation": loss_aggregation,
            "constant_tokens": constant_tokens if loss_aggregation is LossAggregation.CONSTANT else None,
        },
        st.sampled_from(LossAggregation),
        st.integers(1, 10_000),
    )
