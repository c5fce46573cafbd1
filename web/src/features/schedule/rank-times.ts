/** What each rank took beside what was predicted for it, and whether equal work took unequal time. Pure. */
import type { Schedule } from "@/api/types";
import { durations } from "./grid-geometry";

export interface RankTime {
  rank: number;
  tokens: number;
  /** Seconds of its micro-batches. */
  measuredS: number;
  /** Seconds, scaled so that all ranks' predictions add up to what all took. */
  predictedS: number;
}

/** Costs within this share of each other are nearly the same work. */
const NEAR = 0.05;
/** Costs within this share are the same work: only the sums' last digits differ. */
const SAME = 1e-6;
/** Below this two times are not very different. */
const UNEQUAL = 1.25;

export function rankTimes(schedule: Schedule): RankTime[] {
  const measured = durations(schedule, "measured").map(sum);
  const predicted = durations(schedule, "predicted").map(sum);
  const { num_tokens } = schedule.samples;
  return schedule.micro_batches.map((microBatches, rank) => ({
    rank,
    tokens: sum(microBatches.flat().map((sample) => num_tokens[sample] ?? 0)),
    measuredS: measured[rank] ?? 0,
    predictedS: predicted[rank] ?? 0,
  }));
}

export interface UnequalPair {
  slow: RankTime;
  fast: RankTime;
  isSameWork: boolean;
}

/** The slowest rank and the fastest one that had nearly its work; null where their times are alike. */
export function unequalPair(times: readonly RankTime[]): UnequalPair | null {
  const slow = extreme(times, ({ measuredS }) => measuredS);
  if (!slow) return null;
  const peers = times.filter((time) => time.measuredS > 0 && isWithin(NEAR, time, slow));
  const fast = extreme(peers, ({ measuredS }) => -measuredS);
  if (!fast || slow.measuredS < fast.measuredS * UNEQUAL) return null;
  return { slow, fast, isSameWork: slow.tokens === fast.tokens && isWithin(SAME, slow, fast) };
}

/** The ranks furthest above and below what was predicted for them. */
export function againstPlan(times: readonly RankTime[]): { over: RankTime; under: RankTime } | null {
  const planned = times.filter(({ predictedS }) => predictedS > 0);
  const [over, under] = [extreme(planned, timesPlan), extreme(planned, (time) => -timesPlan(time))];
  return over && under ? { over, under } : null;
}

/** What it took as a multiple of what was predicted. */
export function timesPlan({ measuredS, predictedS }: RankTime): number {
  return predictedS > 0 ? measuredS / predictedS : 1;
}

export interface LastRank {
  rank: number;
  /** Seconds after the next one. */
  aheadS: number;
  /** The sample that costs it most, with its share of the rank's predicted cost; null where its work is not why. */
  most: { sample: number; share: number } | null;
}

/** A sample of a smaller share of its rank's work is not why the rank ends last. */
const MUCH = 0.1;

/** The rank for which the others wait; null where none ends behind all others. */
export function lastRank(schedule: Schedule): LastRank | null {
  const ends = durations(schedule, "measured").map(sum);
  const [last = 0, next = 0] = [...ends].sort((a, b) => b - a);
  const rank = ends.indexOf(last);
  const samples = (schedule.micro_batches[rank] ?? []).flat();
  const costOf = (sample: number) => schedule.sample_cost[sample] ?? 0;
  const whole = sum(samples.map(costOf));
  if (ends.length < 2 || last <= next || whole <= 0) return null;
  const sample = samples.reduce((most, one) => (costOf(one) > costOf(most) ? one : most), samples[0] ?? 0);
  const share = costOf(sample) / whole;
  const isWork = share >= MUCH && unequalPair(rankTimes(schedule)) === null;
  return { rank, aheadS: last - next, most: isWork ? { sample, share } : null };
}

function isWithin(share: number, a: RankTime, b: RankTime): boolean {
  return Math.abs(a.predictedS - b.predictedS) <= share * Math.max(a.predictedS, b.predictedS);
}

/** The first one whose value is highest. */
function extreme(times: readonly RankTime[], value: (time: RankTime) => number): RankTime | null {
  return times.reduce<RankTime | null>(
    (best, time) => (best === null || value(time) > value(best) ? time : best),
    null,
  );
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
