/** Builders of schedules and steps for tests. */
import type { Schedule, StepRow } from "@/api/types";

/** Sample lengths by [rank][micro-batch]; cost is the length, and so are the measured milliseconds. */
export function schedule(
  lengths: readonly (readonly (readonly number[])[])[],
  given: Partial<Schedule> = {},
): Schedule {
  const tokens = lengths.flat(2);
  let next = 0;
  const micro_batches = lengths.map((rank) => rank.map((own) => own.map(() => next++)));
  const cost = lengths.map((rank) => rank.map((own) => own.reduce((total, length) => total + length, 0)));
  return {
    token_cap: 100,
    micro_batch_size: null,
    packer: "first_fit_decreasing",
    balance: "cost",
    barrier: "step",
    skips_dummies: true,
    cp: 1,
    pp: 1,
    vpp: 1,
    zero_variance: null,
    samples: {
      sample_id: tokens.map((_, i) => `s${i}`),
      rollout_id: tokens.map((_, i) => `r${i}`),
      group_id: tokens.map((_, i) => `g${Math.floor(i / 2)}`),
      num_tokens: tokens,
      num_loss_tokens: tokens.map((length) => length - 1),
      weight: tokens.map(() => `1/${tokens.length}`),
      reward: tokens.map((_, i) => i % 2),
      advantage: tokens.map((_, i) => (i % 2 ? 0.5 : -0.5)),
      policy_version: tokens.map(() => 7),
      age: [],
    },
    micro_batches,
    predicted_cost: cost,
    measured_s: cost.map((rank) => rank.map((own) => own / 1000)),
    num_positions: [],
    sample_cost: tokens,
    loss_aggregation: "rollout_mean",
    certificate_sha256: "0".repeat(64),
    ...given,
  };
}

export function stepRow(given: Partial<StepRow> = {}): StepRow {
  return {
    step: 7,
    iteration: 7,
    phase: "rl",
    status: "trained",
    started_at: "2026-11-12T10:52:00Z",
    ended_at: "2026-11-12T10:52:40Z",
    policy_version: 7,
    global_batch_size: 136,
    num_prompts: 17,
    num_rollouts: 136,
    num_tokens: 1000,
    num_loss_tokens: 900,
    num_microbatches: 6,
    num_dummies: 0,
    num_over_cap: 0,
    num_generated: 512,
    num_filtered: 376,
    num_dropped: 0,
    num_carried_in: 0,
    num_carried_out: 0,
    batch_decision: null,
    has_schedule: true,
    lr: 1e-6,
    lr_unit: "samples",
    lr_position_before: 0,
    lr_position_after: 136,
    predicted_idle_frac: 0,
    measured_idle_frac: 0,
    idle_bound_frac: 0,
    padding_frac: 0,
    metrics: {},
    attempt: 1,
    superseded: false,
    samples_total: 136,
    tokens_total: 1000,
    ...given,
  };
}
