/** Which of the seven colours of a scale a sample has, and what the scale's ends mean. Pure. */
import type { Schedule, StepRow } from "@/api/types";
import { formatInteger, formatPercent } from "@/lib/numbers";
import { mostPadded, paddingOf, paddingShare } from "./padding";
import type { Colour } from "./schedule-search";

export interface ColourScale {
  /** `seq`: from none to much; `div`: below and above a centre. */
  kind: "seq" | "div";
  /** Index 0 to 6 of each sample. */
  index: number[];
  low: string;
  /** Empty: all samples are alike, and `low` says how. */
  high: string;
  /** Index of a dummy that runs, where the scale says something of it. */
  dummy?: number;
}

/** What of a step colours depend on, beside its schedule. */
export type ColouredStep = Pick<StepRow, "policy_version" | "padding_frac">;

const LAST = 6;
/** Below this share of the cap the cap says nothing about the samples: the scale ends at the longest one. */
const CAP_SHARE = 0.25;

export function colourScale(schedule: Schedule, colour: Colour, step: ColouredStep): ColourScale {
  const { samples } = schedule;
  const policyVersion = step.policy_version ?? 0;
  switch (colour) {
    case "tokens":
      return tokenScale(samples.num_tokens, schedule.token_cap);
    case "cost":
      return upTo(schedule.sample_cost, Math.max(...schedule.sample_cost), "no cost", "the costliest sample");
    case "padding":
      return paddingScale(schedule, step);
    case "age": {
      const ages = samples.policy_version.map((version) => policyVersion - version);
      const oldest = Math.max(1, ...ages);
      return upTo(ages, oldest, "age 0", `${formatInteger(oldest)} updates`);
    }
    case "carried": {
      const longest = Math.max(1, ...samples.age);
      const waited = longest === 1 ? "waited an iteration" : `waited ${formatInteger(longest)} iterations`;
      return upTo(samples.age, longest, "fresh", waited);
    }
    case "reward":
      return rewardScale(samples.reward, samples.group_id);
  }
}

/** The choices that this step has data for. */
export function colourChoices(schedule: Schedule, step: ColouredStep): Colour[] {
  const { reward, policy_version, age } = schedule.samples;
  const policyVersion = step.policy_version ?? 0;
  return [
    "tokens",
    "cost",
    ...(paddingOf(schedule, step) ? (["padding"] as const) : []),
    ...(reward.some((value) => value !== null) ? (["reward"] as const) : []),
    ...(policy_version.some((version) => version < policyVersion) ? (["age"] as const) : []),
    ...(age.some((iterations) => iterations > 0) ? (["carried"] as const) : []),
  ];
}

function upTo(values: readonly number[], most: number, low: string, high: string): ColourScale {
  const index = values.map((value) => Math.min(LAST, Math.max(0, Math.floor((value / most) * (LAST + 1)))));
  return { kind: "seq", index, low, high };
}

function tokenScale(tokens: readonly number[], cap: number | null): ColourScale {
  const longest = Math.max(1, ...tokens);
  if (cap === null || longest < cap * CAP_SHARE)
    return upTo(tokens, longest, "0", `${formatInteger(longest)} tokens`);
  return upTo(tokens, cap, "0", `${formatInteger(cap)} tokens (cap) and over`);
}

/** All samples of a micro-batch have its colour: padding stands behind them, and belongs to none of them. */
function paddingScale(schedule: Schedule, step: ColouredStep): ColourScale {
  const padding = paddingOf(schedule, step) ?? [];
  const values = schedule.samples.num_tokens.map(() => 0);
  schedule.micro_batches.forEach((own, rank) => {
    own.forEach((members, cell) => {
      const here = padding[rank]?.[cell];
      for (const sample of members) values[sample] = here ? paddingShare(here) : 0;
    });
  });
  const most = mostPadded(schedule, padding);
  if (!most) {
    const index = values.map(() => 0);
    return { kind: "seq", index, low: "no padding: samples lie back to back", high: "", dummy: LAST };
  }
  const high = `${formatPercent(most.share)} of a micro-batch’s positions`;
  return { ...upTo(values, most.share, "no padding", high), dummy: LAST };
}

/** A reward against the mean of its group: what an advantage is made of. */
function rewardScale(rewards: readonly (number | null)[], groups: readonly string[]): ColourScale {
  const sums = new Map<string, { total: number; count: number }>();
  rewards.forEach((reward, i) => {
    if (reward === null) return;
    const group = groups[i] as string;
    const known = sums.get(group) ?? { total: 0, count: 0 };
    sums.set(group, { total: known.total + reward, count: known.count + 1 });
  });
  const differences = rewards.map((reward, i) => {
    const group = sums.get(groups[i] as string);
    return reward === null || !group ? 0 : reward - group.total / group.count;
  });
  const most = Math.max(...differences.map(Math.abs));
  const index = differences.map((difference) => (most > 0 ? Math.round((difference / most) * 3) + 3 : 3));
  return { kind: "div", index, low: "below its group’s mean", high: "above" };
}
