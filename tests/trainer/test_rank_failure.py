from __future__ import annotations

import pickle

from trainer.rank_failure import RankFailure, describe_failures, failure_of


def raised(error: Exception) -> Exception:
    try:
        raise error
    except type(error) as caught:
        return caught


def test_first_cause_comes_first_though_a_peer_reported_earlier():
    lost_peer = RankFailure(rank=0, cause="RuntimeError: Connection closed by peer", is_consequence=True, at=1.0)
    cause = failure_of(raised(ValueError("bad token")), rank=1, step=4, micro_batch=2)
    lines = describe_failures([lost_peer, cause]).splitlines()
    assert lines[0] == "rank 1, step 4 of this iteration, micro-batch 2: ValueError: bad token"
    assert "raise error" in describe_failures([lost_peer, cause])
    assert lines[-1] == "then rank 0: RuntimeError: Connection closed by peer"


def test_of_several_causes_the_earliest_comes_first():
    late, early = (RankFailure(rank=rank, cause="x", at=at) for rank, at in ((0, 2.0), (1, 1.0)))
    assert describe_failures([late, early]).startswith("rank 1")


def test_broken_collective_is_told_from_an_error_of_our_own():
    ours = failure_of(raised(RuntimeError("shapes differ")), rank=0, step=None, micro_batch=None)
    gloo = failure_of(raised(RuntimeError("[gloo/transport/tcp] timed out")), rank=0, step=None, micro_batch=None)
    assert not ours.is_consequence
    assert gloo.is_consequence
    assert ours.place == "rank 0"


def test_failure_crosses_processes():
    failure = failure_of(raised(KeyError("x")), rank=3, step=0, micro_batch=None)
    assert pickle.loads(pickle.dumps(failure)) == failure
