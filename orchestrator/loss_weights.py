"""The loss weight of each sample of a step, exactly. Called by the scheduler; the loop turns the weights into scales.

The weights depend on the step's samples alone, never on ranks, micro-batches or order, and no float enters them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd

from orchestrator.sample_shape import SampleShape
from trainer.contracts.certificate import Certificate, LossAggregation


def certify(
    samples: Sequence[SampleShape], *, loss_aggregation: LossAggregation, constant_tokens: int | None
) -> Certificate:
    """The certificate of a step with these samples, in their order.

    A sample without loss tokens weighs 0 and enters no denominator: neither its rollout nor its prompt counts for it.
    Two rollouts a (samples of 1 and 3 loss tokens) and b (2) under `rollout_mean` weigh 1/8, 3/8 and 1/2.

    constant_tokens: divisor of `constant`, in tokens; the other aggregations do not read it.

    Raises:
        ValueError: `constant` without a positive constant_tokens, or a sample_id twice.
    """
    num_loss_tokens = [sample.num_loss_tokens for sample in samples]
    denominators = _denominators(samples, num_loss_tokens, loss_aggregation, constant_tokens)
    fractions: dict[tuple[int, int], Fraction] = {}
    weights = []
    for tokens, denominator in zip(num_loss_tokens, denominators, strict=True):
        # The samples of a step share few reduced fractions, and making one costs more than the rest of this loop.
        divisor = gcd(tokens, denominator)
        key = (tokens // divisor, denominator // divisor)
        if (weight := fractions.get(key)) is None:
            weight = fractions[key] = Fraction(*key)
        weights.append(weight)
    return Certificate(
        loss_aggregation=loss_aggregation,
        sample_ids=tuple([sample.sample_id for sample in samples]),
        weights=tuple(weights),
    )


def loss_scales(certificate: Certificate, samples: Sequence[SampleShape]) -> tuple[float, ...]:
    """`TrainSample.loss_scale` of each sample: s_i = step_global_batch_size · weight_i / num_loss_tokens_i.

    `samples` come in the certificate's order. A sample without loss tokens gets 0.
    """
    step_global_batch_size = len(certificate.weights)
    return tuple(
        # One division of integers rounds once; a quotient of floats would round three times.
        step_global_batch_size * weight.numerator / (weight.denominator * max(1, sample.num_loss_tokens))
        for weight, sample in zip(certificate.weights, samples, strict=True)
    )


def _denominators(
    samples: Sequence[SampleShape],
    num_loss_tokens: Sequence[int],
    loss_aggregation: LossAggregation,
    constant_tokens: int | None,
) -> list[int]:
    """For each sample the integer D_i > 0 with weight_i = num_loss_tokens_i / D_i."""
    match loss_aggregation:
        case LossAggregation.TOKEN_MEAN:
            return [max(1, sum(num_loss_tokens))] * len(samples)
        case LossAggregation.SAMPLE_MEAN:
            return _owners_alike([sample.sample_id for sample in samples], num_loss_tokens)
        case LossAggregation.ROLLOUT_MEAN:
            return _owners_alike([sample.rollout_id for sample in samples], num_loss_tokens)
        case LossAggregation.PROMPT_MEAN:
            return _owners_alike([sample.group_id for sample in samples], num_loss_tokens)
        case LossAggregation.CONSTANT:
            if constant_tokens is None or constant_tokens < 1:
                raise ValueError(
                    f"loss_aggregation=constant divides by constant_tokens={constant_tokens}, which must be at "
                    "least 1; set algorithm.constant_tokens"
                )
            num_samples = sum(tokens > 0 for tokens in num_loss_tokens)
            return [max(1, num_samples) * constant_tokens] * len(samples)


def _owners_alike(owners: Sequence[str], num_loss_tokens: Sequence[int]) -> list[int]:
    """Every owner that has loss tokens weighs the same, and within it every loss token does."""
    totals: dict[str, int] = {}
    for owner, tokens in zip(owners, num_loss_tokens, strict=True):
        totals[owner] = totals.get(owner, 0) + tokens
    num_owners = sum(total > 0 for total in totals.values())
    denominators = {owner: total * num_owners or 1 for owner, total in totals.items()}
    return [denominators[owner] for owner in owners]
