"""A training loop of your own, recorded by Swell: plain torch, no Megatron, a batch size that changes at every step.

    swell up                                  # in another terminal; prints a link to the dashboard
    python examples/external/torch_loop.py    # then open the run "plain-torch" there

Four things are all there is to it, marked 1 to 4 below. Recording never holds the loop up and never breaks it: the
server may be away for an hour, or for good.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from server.client import Recorder, SwellClient, plain_schedule

TOKEN_CAP = 256
"""Most tokens of a micro-batch."""
WIDTH = 16


def main(num_steps: int, seed: int) -> None:
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(WIDTH, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=num_steps)

    # 1. Say that there is a run. SWELL_URL and SWELL_TOKEN name a server elsewhere; without them it is the one on
    #    this machine. `journal=Path("…")` would keep what is not delivered yet over the end of this process.
    with (
        SwellClient() as client,
        client.start_external(
            name="plain-torch",
            config={"seed": seed, "width": WIDTH, "token_cap": TOKEN_CAP, "optimizer": "AdamW"},
            tags={"example": "external"},
            total_steps=num_steps,
        ) as recorder,
    ):
        for step in range(num_steps):
            lr = scheduler.get_last_lr()[0]
            sequences = draw_batch(step, num_steps)
            log_step(recorder, step, lr, sequences, *train_step(model, optimizer, sequences))
            scheduler.step()

            # 2. Somebody may have pressed Pause or Cancel in the dashboard.
            recorder.wait_while_paused()
            if recorder.should_stop:
                break
    # Here the run is `succeeded`; `cancelled`, if it was asked to stop; or `failed`, with the traceback.


def log_step(
    recorder: Recorder, step: int, lr: float, sequences: Sequence[Tensor], parts: Sequence[Part], grad_norm: Tensor
) -> None:
    lengths = [len(sequence) for sequence in sequences]
    losses = torch.cat([part.losses for part in parts])

    # 3. Say what the step was. A metric with its weight (how many samples or tokens it is the mean of) stays true when
    #    steps of unequal size are put together in a chart; a plain number weighs 1.
    recorder.log_step(
        step=step,
        global_batch_size=len(sequences),
        metrics={
            "train/loss": (losses.mean(), len(losses)),
            "train/grad_norm": grad_norm,
            "batch/longest": max(lengths),
        },
        lr=lr,
        # 4. If you like, say which sample ran where: one data-parallel rank here. The dashboard then draws the step,
        #    and checks that the samples' shares of the loss add up to exactly 1.
        schedule=plain_schedule(
            [[part.samples for part in parts]],
            num_tokens=lengths,
            step=step,
            token_cap=TOKEN_CAP,
            measured_s=[[part.seconds for part in parts]],
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A micro-batch that has run."""

    samples: list[int]
    losses: Tensor
    seconds: float


def train_step(
    model: nn.Module, optimizer: torch.optim.Optimizer, sequences: Sequence[Tensor]
) -> tuple[list[Part], Tensor]:
    """One update by the mean over samples, whatever micro-batches they are in.

    Each micro-batch adds its sum divided by the number of samples of the whole step: dividing by a configured batch
    size would be wrong at every step that has another one.
    """
    parts = []
    for samples in pack([len(sequence) for sequence in sequences]):
        began = time.perf_counter()
        losses = torch.stack([loss_of(model, sequences[i]) for i in samples])
        (losses.sum() / len(sequences)).backward()
        parts.append(Part(samples=samples, losses=losses.detach(), seconds=time.perf_counter() - began))
    grad_norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    return parts, grad_norm


def draw_batch(step: int, num_steps: int) -> list[Tensor]:
    """Sequences of unequal length; the batch grows from about 8 to about 48 of them, and is never twice the same."""
    grown = 8 + 40 * step / max(num_steps - 1, 1)
    size = int(torch.randint(int(0.7 * grown), int(1.3 * grown) + 1, ()))
    lengths = torch.randint(4, 64, (size,)).tolist()
    return [torch.randn(length, WIDTH) for length in lengths]


def pack(lengths: Sequence[int]) -> list[list[int]]:
    """Samples into micro-batches of at most TOKEN_CAP tokens: longest first, each into the first one with room."""
    micro_batches: list[list[int]] = []
    room: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        place = next((k for k, left in enumerate(room) if left >= lengths[i]), None)
        if place is None:
            micro_batches.append([i])
            room.append(TOKEN_CAP - lengths[i])
        else:
            micro_batches[place].append(i)
            room[place] -= lengths[i]
    return micro_batches


def loss_of(model: nn.Module, sequence: Tensor) -> Tensor:
    """How far the model is from the sum of the first feature's sines: something to learn."""
    target = torch.sin(sequence[:, :1])
    return nn.functional.mse_loss(model(sequence), target)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=17)
    given = parser.parse_args()
    main(given.steps, given.seed)
