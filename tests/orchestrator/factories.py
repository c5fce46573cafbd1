"""Builders and Hypothesis strategies for the pure modules: samples, groups, layouts, and the shared cases."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st
from pydantic import TypeAdapter

from orchestrator.contracts.batch_spec import BatchSpec, Remainder
from orchestrator.contracts.rollout import Completion, Group, Prompt, Rollout
from orchestrator.contracts.schedule_spec import Balance, Barrier, Packer
from orchestrator.costs.cost_model import CostModel
from orchestrator.geometry import StepGeometry
from orchestrator.sample_shape import SampleShape
from orchestrator.schedule import build_dp_schedule
from trainer.contracts.certificate import LossAggregation
from trainer.contracts.schedule import DpSchedule

CASES = Path(__file__).parents[1] / "cases"
COST_MODEL = CostModel(linear=1.0, quadratic=0.01)
BATCH_SPECS: TypeAdapter[BatchSpec] = TypeAdapter(BatchSpec)


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


@st.composite
def many_shapes(draw: st.DrawFn) -> list[SampleShape]:
    """What `shapes_of_an_iteration` gives, drawn from a seed: quick to make by the thousand, though hard to shrink."""
    num_rollouts, tail, group_size = (
        draw(st.integers(0, 24)),
        draw(st.sampled_from([10, 1_000, 100_000])),
        draw(st.integers(1, 4)),
    )
    random = Random(draw(st.integers(0, 2**32)))
    most_samples, masked_frac = random.choice([1, 1, 9]), random.choice([0, 0.1, 1])
    owners = [rollout for rollout in range(num_rollouts) for _ in range(random.randint(1, most_samples))]
    lengths = [min(tail, max(1, int(tail / 20 * random.paretovariate(1.2)))) for _ in owners]
    return sample_shapes(
        lengths,
        rollouts=owners,
        groups=[owner // group_size for owner in owners],
        num_loss_tokens=[0 if random.random() < masked_frac else random.randint(0, length) for length in lengths],
    )


@st.composite
def batch_policies(draw: st.DrawFn) -> BatchSpec:
    """Every batch policy with every remainder that it knows."""
    size, remainder = draw(st.sampled_from([1, 5, 8, 16, 30])), draw(st.sampled_from(Remainder))
    more = draw(st.integers(0, 3))
    fields: dict[str, Any] = draw(
        st.sampled_from(
            [
                {"type": "all"},
                {"type": "fixed", "global_batch_size": size},
                {"type": "token_budget", "tokens_per_step": size * 1000},
                {"type": "ramp", "start": size, "end": size + 2 * more, "increment": max(1, more), "over_samples": 50},
                {"type": "explicit", "sizes": [size, size + more, 1]},
                {
                    "type": "explicit",
                    "table": [
                        {"from_step": 0, "global_batch_size": size},
                        {"from_step": 2, "global_batch_size": 1 + more},
                    ],
                },
                {"type": "adaptive", "global_batch_size": size, "min_size": 1, "max_size": 64},
            ]
        )
    )
    if fields["type"] != "all":
        fields = fields | {"remainder": remainder}
    policy: BatchSpec = BATCH_SPECS.validate_python(fields)
    return policy


def step_geometry(**changes: Any) -> StepGeometry:
    """One rank with a cap of 10 tokens, unless told otherwise."""
    cap = {} if "micro_batch_size" in changes else {"token_cap": 10}
    return StepGeometry(**({"dp_size": 1} | cap | changes))


def scheduled(lengths: Sequence[int], geometry: StepGeometry, cost_model: CostModel = COST_MODEL) -> DpSchedule:
    """The schedule of one step of samples of these lengths."""
    return build_dp_schedule(
        sample_shapes(lengths),
        [range(len(lengths))],
        geometry=geometry,
        cost_model=cost_model,
        loss_aggregation=LossAggregation.ROLLOUT_MEAN,
    )


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
        barrier=draw(st.sampled_from(Barrier)),
        cp=draw(st.integers(1, 4)),
        pp=draw(st.integers(1, 4)),
        vpp=draw(st.integers(1, 2)),
        overlap_grad_reduce=draw(st.booleans()),
        **cut,
    )


def cost_models() -> st.SearchStrategy[CostModel]:
    return st.sampled_from(
        [COST_MODEL, CostModel(linear=3.0, quadratic=0.0), CostModel(linear=1.0, quadratic=0.01, overhead=20.0)]
    )


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
