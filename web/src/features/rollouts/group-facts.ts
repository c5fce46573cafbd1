/** What a group of rollouts is in numbers: rewards as bars, its fate in words. Pure. */
import type { IterationBooks, RolloutGroup, RolloutHead } from "@/api/types";
import { formatInteger, formatRange } from "@/lib/numbers";
import { wordsOf } from "@/lib/texts";

type Fated = Pick<RolloutHead, "fate" | "reason" | "later">;

export interface RewardScale {
  low: number;
  high: number;
}

/** One scale for all groups of a list, so that bars can be compared: 0 to 1, wider where rewards lie outside. */
export function rewardScale(rewards: Iterable<number | null>): RewardScale {
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

/** What became of a rollout, also where a later iteration took it up. */
export function fateOf({ fate, reason, later }: Fated): Pick<Fated, "fate" | "reason"> {
  return later ?? { fate, reason };
}

/** `trained`, `filtered: zero variance`, or of several fates `6 trained, 2 dropped`. */
export function fateText(rollouts: readonly Fated[]): string {
  const counts = new Map<string, number>();
  for (const { fate, reason } of rollouts.map(fateOf)) {
    const text = reason ? `${fate}: ${wordsOf(reason)}` : fate;
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  const entries = [...counts];
  if (entries.length === 1) return entries[0]?.[0] ?? "";
  return entries.map(([text, count]) => `${formatInteger(count)} ${text}`).join(", ");
}

/** `1,533 to 36,912 tokens`. */
export function lengthsText(rollouts: readonly Pick<RolloutHead, "num_tokens">[]): string {
  const lengths = rollouts.map(({ num_tokens }) => num_tokens);
  return lengths.length === 0 ? "" : `${formatRange(Math.min(...lengths), Math.max(...lengths))} tokens`;
}

/** Whether nothing of the group was, or will be, trained. */
export function isLeftOut(rollouts: readonly Fated[]): boolean {
  return rollouts.map(fateOf).every(({ fate }) => fate === "filtered" || fate === "dropped");
}

/** `512 generated = 136 trained + 376 filtered`; what is 0 and beside the point is left out. */
export function booksText(books: IterationBooks): string {
  const filtered = sumOf(books.filtered);
  const dropped = sumOf(books.dropped);
  const comes = [
    ...(books.num_carried_in > 0 ? [`${formatInteger(books.num_carried_in)} carried in`] : []),
    `${formatInteger(books.num_generated)} generated`,
  ];
  const goes = [
    `${formatInteger(books.num_trained)} trained`,
    `${formatInteger(filtered)} filtered`,
    ...(dropped > 0 ? [`${formatInteger(dropped)} dropped`] : []),
    ...(books.num_carried_out > 0 ? [`${formatInteger(books.num_carried_out)} carried on`] : []),
  ];
  return `${comes.join(" + ")} = ${goes.join(" + ")}`;
}

/** `32 of 128 groups recorded`; empty where all are, and there is nothing to explain. */
export function recordedText(part: Pick<IterationBooks, "num_groups" | "num_recorded_groups">): string {
  const { num_groups: all, num_recorded_groups: recorded } = part;
  return recorded < all ? `${formatInteger(recorded)} of ${formatInteger(all)} groups recorded` : "";
}

export function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** What tells a group from its neighbours: `17` of `spell_backward-17`. The whole id is told on hover. */
export function shortId(id: string): string {
  return id.match(/[\p{L}\p{N}]+$/u)?.[0] ?? id;
}

/** Tells a group from all others of its run. */
export function keyOf(group: RolloutGroup | undefined): string | null {
  return group ? `${group.attempt} ${group.iteration} ${group.group_id}` : null;
}
