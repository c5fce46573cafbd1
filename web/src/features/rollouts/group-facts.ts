/** What a group of rollouts is in numbers: rewards as bars, mean and spread, its fate in words. Pure. */
import { formatInteger, formatRange } from "@/lib/numbers";

/** What a list needs to know of a rollout. */
export interface RolloutFacts {
  rollout_id: string;
  fate: string;
  reason: string | null;
  step: number | null;
  num_tokens: number;
  truncated: boolean;
  reward: number | null;
  advantage: number | null;
}

export interface RewardSpread {
  mean: number | null;
  std: number | null;
  numScored: number;
}

/** Of the rollouts that could be scored; the spread is that of the population, as advantages take it. */
export function rewardSpread(rollouts: readonly Pick<RolloutFacts, "reward">[]): RewardSpread {
  const rewards = rollouts.flatMap(({ reward }) => (reward === null ? [] : [reward]));
  if (rewards.length === 0) return { mean: null, std: null, numScored: 0 };
  const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
  const square = rewards.reduce((sum, reward) => sum + (reward - mean) ** 2, 0) / rewards.length;
  return { mean, std: Math.sqrt(square), numScored: rewards.length };
}

export interface RewardScale {
  low: number;
  high: number;
}

/** One scale for all groups of a list, so that bars can be compared: 0 to 1, wider where rewards lie outside. */
export function rewardScale(rewards: readonly (number | null)[]): RewardScale {
  let [low, high] = [0, 1];
  for (const reward of rewards) {
    if (reward === null) continue;
    low = Math.min(low, reward);
    high = Math.max(high, reward);
  }
  return { low, high };
}

export interface RewardBar {
  /** Share of the full height. */
  height: number;
  /** At the lower end of the scale. */
  isLow: boolean;
}

const MOST_BARS = 16;

/** A bar for each reward, best first; of many rollouts the means of as many as stand in one bar. */
export function rewardBars(rewards: readonly (number | null)[], { low, high }: RewardScale): RewardBar[] {
  const sorted = rewards.flatMap((reward) => (reward === null ? [] : [reward])).sort((a, b) => b - a);
  const count = Math.min(MOST_BARS, sorted.length);
  return Array.from({ length: count }, (_, i) => {
    const part = sorted.slice(
      Math.floor((i * sorted.length) / count),
      Math.floor(((i + 1) * sorted.length) / count),
    );
    const mean = part.reduce((sum, reward) => sum + reward, 0) / part.length;
    const height = high > low ? (mean - low) / (high - low) : 0;
    return { height, isLow: height <= 0.001 };
  });
}

/** `trained`, `filtered: zero variance`, or of several fates `6 trained, 2 dropped`. */
export function fateText(rollouts: readonly Pick<RolloutFacts, "fate" | "reason">[]): string {
  const counts = new Map<string, number>();
  for (const { fate, reason } of rollouts) {
    const text = reason ? `${fate}: ${wordsOf(reason)}` : fate;
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  const entries = [...counts];
  if (entries.length === 1) return entries[0]?.[0] ?? "";
  return entries.map(([text, count]) => `${formatInteger(count)} ${text}`).join(", ");
}

/** `zero_variance` as words. */
export function wordsOf(reason: string): string {
  return reason.replaceAll("_", " ");
}

/** `1,533 to 36,912 tokens`. */
export function lengthsText(rollouts: readonly Pick<RolloutFacts, "num_tokens">[]): string {
  const lengths = rollouts.map(({ num_tokens }) => num_tokens);
  return `${formatRange(Math.min(...lengths), Math.max(...lengths))} tokens`;
}

/** Whether nothing of the group was trained. */
export function isLeftOut(rollouts: readonly Pick<RolloutFacts, "fate">[]): boolean {
  return rollouts.every(({ fate }) => fate === "filtered" || fate === "dropped");
}
