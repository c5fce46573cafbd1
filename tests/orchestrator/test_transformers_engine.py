from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.contracts.rollout import Sampling
from orchestrator.engines.transformers_engine import EngineError, TransformersEngine, share_out
from tests.orchestrator.ingest_server import until
from tests.orchestrator.tiny_model import EOS, HF_CONFIG, PAD, hf_model, hf_weights, prompts

SAMPLING = Sampling(max_new_tokens=8, temperature=1.0, seed=5)


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 4)), max_size=30), st.integers(1, 5))
def test_prompts_are_shared_out_whole_group_by_group(groups: list[tuple[int, int]], replicas: int) -> None:
    given_prompts = [(i,) * length for i, (length, size) in enumerate(groups) for _ in range(size)]
    shares = share_out(given_prompts, replicas)
    assert sorted(i for share in shares for i in share) == list(range(len(given_prompts)))
    for prompt in set(given_prompts):
        assert sum(prompt in {given_prompts[i] for i in share} for share in shares) == 1


def engine(replicas: int) -> TransformersEngine:
    return TransformersEngine(HF_CONFIG, replicas=replicas, eos_id=EOS, pad_id=PAD)


@pytest.mark.stack
def test_any_number_of_replicas_gives_the_same_completions_in_order(local_ray: None) -> None:
    given_prompts = prompts(9, group_size=4)
    outcomes = []
    for replicas in (1, 2):
        made = engine(replicas)
        made.push_weights(hf_weights(hf_model()), 3)
        completions = made.generate(given_prompts, SAMPLING)
        assert len(completions) == len(given_prompts)
        assert {completion.policy_version for completion in completions} == {3}
        outcomes.append([completion.token_ids.tolist() for completion in completions])
        made.close()
    assert outcomes[0] == outcomes[1]


@pytest.mark.stack
def test_what_a_replica_raises_is_told(local_ray: None) -> None:
    made = engine(1)
    with pytest.raises(EngineError, match="pushed weights lack"):
        made.push_weights({}, 0)
    made.close()


@pytest.mark.stack
def test_a_closed_engine_leaves_no_process(local_ray: None) -> None:
    made = engine(2)
    made.push_weights(hf_weights(hf_model()), 0)
    replicas = _replica_pids()
    assert len(replicas) >= 2
    made.close()
    made.close()
    until(lambda: not any(_is_alive(pid) for pid in replicas))


def _replica_pids() -> list[int]:
    me = psutil.Process(os.getpid())
    return [
        child.pid
        for child in me.children(recursive=True)
        if "Replica" in Path(f"/proc/{child.pid}/cmdline").read_text()
    ]


def _is_alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
