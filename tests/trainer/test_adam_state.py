"""Adam's state out of a real Megatron optimizer and back."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.trainer import factories
from trainer.adam_state import MOMENTS, read_adam_state, write_adam_state
from trainer.contracts.loss_spec import SftLossSpec

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:megatron")


def parts(rank):
    state = rank._state
    return state.optimizer, rank._parameters


def train_once(rank, seed):
    samples = factories.samples(np.random.default_rng(seed), 4)
    return factories.train_alone(rank, samples, factories.schedule([[[0, 1], [2, 3]]]))


def test_before_the_first_update_there_is_nothing_to_remember(lone_rank):
    lone_rank.start_phase(factories.phase(SftLossSpec()))
    state = read_adam_state(*parts(lone_rank))
    assert state.num_updates == 0
    assert all(not moment.any() for by_name in state.moments.values() for moment in by_name.values())


class FusedAdam(torch.optim.Optimizer):
    """As Transformer Engine's and Apex's: updates are counted by group, not by parameter."""

    def __init__(self, adam: torch.optim.AdamW) -> None:
        super().__init__(adam.param_groups, {})

    def step(self, closure: None = None) -> None:
        for group in self.param_groups:
            group["step"] = group.get("step", 0) + 1
            for parameter in group["params"]:
                self.state[parameter] = {moment: torch.ones_like(parameter) for moment in MOMENTS}


def test_updates_that_are_counted_by_group_are_kept_too(lone_rank):
    lone_rank.start_phase(factories.phase(SftLossSpec()))
    optimizer, parameters = parts(lone_rank)
    leaves = getattr(optimizer, "chained_optimizers", [optimizer])
    for leaf in leaves:
        leaf.optimizer = FusedAdam(leaf.optimizer)
        leaf.optimizer.step()
        leaf.optimizer.step()
    saved = read_adam_state(optimizer, parameters)
    assert saved.num_updates == 2
    for leaf in leaves:
        leaf.optimizer = FusedAdam(leaf.optimizer)
        assert not leaf.optimizer.state
        for group in leaf.optimizer.param_groups:
            group.pop("step")
    write_adam_state(optimizer, parameters, saved)
    assert {group["step"] for leaf in leaves for group in leaf.optimizer.param_groups} == {2}
    again = read_adam_state(optimizer, parameters)
    assert again.num_updates == 2
    assert all(moment.all() for by_name in again.moments.values() for moment in by_name.values())


def test_going_on_from_a_state_is_the_same_as_never_having_stopped(lone_rank):
    phase = factories.phase(SftLossSpec(), lr=1e-2)
    lone_rank.start_phase(phase)
    train_once(lone_rank, 1)
    optimizer, parameters = parts(lone_rank)
    saved = read_adam_state(optimizer, parameters)
    saved = type(saved)(
        num_updates=saved.num_updates,
        weights={name: tensor.clone() for name, tensor in saved.weights.items()},
        moments={m: {name: tensor.clone() for name, tensor in saved.moments[m].items()} for m in MOMENTS},
    )
    train_once(lone_rank, 2)
    expected = lone_rank.weights()
    lone_rank.start_phase(phase)
    optimizer, parameters = parts(lone_rank)
    write_adam_state(optimizer, parameters, saved)
    train_once(lone_rank, 2)
    again = lone_rank.weights()
    assert saved.num_updates == 1
    assert expected.keys() == again.keys()
    assert all(np.array_equal(expected[name], again[name]) for name in expected)
    assert torch.is_tensor(saved.moments["exp_avg"]["0.decoder.final_layernorm.weight"])
