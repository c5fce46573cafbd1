/** What a step's numbers mean, in sentences: finding, idle time, books. Pure; numbers come from the record. */
import type { Schedule, StepRow } from "@/api/types";
import { formatDuration } from "@/lib/durations";
import { formatCount, formatInteger, formatPercent } from "@/lib/numbers";
import { durations } from "./grid-geometry";
import { mostPadded, paddingOf } from "./padding";
import { againstPlan, lastRank, type RankTime, rankTimes, timesPlan, unequalPair } from "./rank-times";

export interface Finding {
  /** The finding itself, one sentence. */
  head: string;
  /** What is behind it, and what to change. */
  detail: string;
  /** The sample that it names. */
  sample?: number;
}

/** The figures of a step that findings look at. */
export type StepFigures = Pick<
  StepRow,
  | "measured_idle_frac"
  | "predicted_idle_frac"
  | "idle_bound_frac"
  | "num_dummies"
  | "num_microbatches"
  | "padding_frac"
  | "status"
>;

interface IdleFigures {
  measured: number;
  predicted: number;
  bound: number;
}

/** Null where the run did not tell all three. */
function idleFigures(step: StepFigures): IdleFigures | null {
  const { measured_idle_frac: measured, predicted_idle_frac: predicted, idle_bound_frac: bound } = step;
  return measured === null || predicted === null || bound === null ? null : { measured, predicted, bound };
}

/** Less than this of idle time is not worth a word. */
export const IDLE_POINTS = 0.05;
/** Below this a rank that took longer explains nothing. */
const SLOWER = 1.01;
const DUMMY_SHARE = 0.1;
const PADDING_SHARE = 0.1;

/** The first finding that holds, or null. */
export function findingOf(schedule: Schedule, step: StepFigures): Finding | null {
  return (
    skippedStep(step) ??
    unequalRanks(schedule, step) ??
    longSample(schedule) ??
    overCap(schedule) ??
    idleAboveBound(schedule, step) ??
    manyDummies(schedule, step) ??
    muchPadding(schedule, step)
  );
}

/** What was computed did not move the weights: more than any idle time. */
function skippedStep({ status }: StepFigures): Finding | null {
  const stays = "Weights and LR position stayed as they were.";
  if (status === "skipped:non_finite")
    return { head: "This step was skipped: its loss or gradient was not finite.", detail: stays };
  if (status === "skipped:no_signal")
    return { head: "This step was skipped: none of its samples has a loss token.", detail: stays };
  return null;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** A sample that costs more than a rank's fair share: no schedule of this step can end before it does. */
function longSample(schedule: Schedule): Finding | null {
  const dp = schedule.micro_batches.length;
  const cost = Math.max(...schedule.sample_cost);
  const sample = schedule.sample_cost.indexOf(cost);
  if (dp < 2 || !(cost > sum(schedule.sample_cost) / dp)) return null;
  const rank = schedule.micro_batches.findIndex((own) => own.some((samples) => samples.includes(sample)));
  const tokens = schedule.samples.num_tokens[sample] ?? 0;
  const ends = durations(schedule, "measured").map(sum);
  const others = Math.max(0, ...ends.filter((_, other) => other !== rank));
  const ahead = (ends[rank] ?? 0) - others;
  const isAlone = sum((schedule.micro_batches[rank] ?? []).map(({ length }) => length)) === 1;
  const size = `It has ${formatInteger(tokens)} tokens${capTimes(tokens, schedule.token_cap, ", ")}`;
  const place = isAlone ? `runs alone on rank ${rank}` : `runs on rank ${rank}`;
  const lead = ahead > 0 ? `; the others end ${formatDuration(ahead)} or more sooner` : "";
  return {
    head: `${sampleName(sample)} alone sets the length of this step.`,
    detail: `${size}, and ${place}${lead}. Lower rollout.max_new_tokens.`,
    sample,
  };
}

/** As the grid's card and the findings call it. */
export function sampleName(sample: number): string {
  return `Sample ${formatInteger(sample)}`;
}

/** `4.5 × the cap`, where it is above it. */
export function capTimes(tokens: number, cap: number | null, before = ""): string {
  return cap !== null && tokens > cap ? `${before}${(tokens / cap).toFixed(1)} × the cap` : "";
}

function overCap(schedule: Schedule): Finding | null {
  const { token_cap: cap, samples } = schedule;
  if (cap === null) return null;
  const over = schedule.micro_batches
    .flat()
    .filter((members) => sum(members.map((sample) => samples.num_tokens[sample] ?? 0)) > cap);
  if (over.length === 0) return null;
  const longest = Math.max(...over.flat().map((sample) => samples.num_tokens[sample] ?? 0));
  const sample = samples.num_tokens.indexOf(longest);
  return {
    head: `${formatCount(over.length, "micro-batch").replace("batchs", "batches")} over the cap of ${formatInteger(cap)} tokens.`,
    detail: `${sampleName(sample)} has ${formatInteger(longest)} tokens and runs alone. Raise schedule.token_cap, or lower rollout.max_new_tokens.`,
    sample,
  };
}

/** Ranks that had nearly the same work and took very different times, where the plan would not have waited. */
function unequalRanks(schedule: Schedule, step: StepFigures): Finding | null {
  const idle = idleFigures(step);
  if (!idle || idle.measured - idle.predicted <= IDLE_POINTS) return null;
  if (idle.predicted - idle.bound > IDLE_POINTS) return null;
  const pair = unequalPair(rankTimes(schedule));
  if (!pair) return null;
  const { slow, fast, isSameWork } = pair;
  const work = isSameWork ? "the same work" : "nearly the same work";
  const tokens = `${formatInteger(slow.tokens)} and ${formatInteger(fast.tokens)} tokens`;
  return {
    head: `Not the schedule: ${took(slow)} and ${took(fast)} for ${work} (${tokens}).`,
    detail: `No sample is the cause: the machine may have been busy (System tells its load), or the first step of a shape warmed up. ${waitOf(idle)}; the plan waits ${formatPercent(idle.predicted)}.`,
  };
}

function took({ rank, measuredS }: RankTime): string {
  return `rank ${rank} took ${formatDuration(measuredS)}`;
}

function waitOf(idle: IdleFigures): string {
  return `The ranks wait ${formatPercent(idle.measured)} of this step, ${points(idle.measured, idle.bound)} above its bound`;
}

function idleAboveBound(schedule: Schedule, step: StepFigures): Finding | null {
  const idle = idleFigures(step);
  const above = idle ? idle.measured - idle.bound : 0;
  if (!idle || above <= IDLE_POINTS) return null;
  const wait = waitOf(idle);
  if (idle.predicted - idle.bound > IDLE_POINTS) {
    return {
      head: `${wait}.`,
      detail: `The plan itself waits ${formatPercent(idle.predicted)}. A lower schedule.token_cap gives micro-batches that can be balanced.`,
    };
  }
  const ranks = againstPlan(rankTimes(schedule));
  if (!ranks || timesPlan(ranks.over) < SLOWER)
    return { head: `${wait}.`, detail: `The plan waits ${formatPercent(idle.predicted)}.` };
  const { over, under } = ranks;
  return {
    head: `No single sample is the cause: ${took(over)} where ${formatDuration(over.predictedS)} were predicted, and ${took(under)} where ${formatDuration(under.predictedS)} were.`,
    detail: `Predictions are scaled to what all ranks took together. ${wait}; the plan waits ${formatPercent(idle.predicted)}.`,
  };
}

function manyDummies(schedule: Schedule, step: StepFigures): Finding | null {
  const slots = (step.num_microbatches ?? 0) * schedule.micro_batches.length;
  if ((step.num_dummies ?? 0) <= slots * DUMMY_SHARE) return null;
  const head = `${formatInteger(step.num_dummies)} of ${formatInteger(slots)} slots hold dummies.`;
  return schedule.skips_dummies
    ? { head, detail: "They have weight 0 and are skipped, so they cost no time in this layout." }
    : {
        head,
        detail: "They have weight 0 but run, and take time. A lower schedule.token_cap fills the slots.",
      };
}

function muchPadding(schedule: Schedule, step: StepFigures): Finding | null {
  if (step.padding_frac === null || step.padding_frac <= PADDING_SHARE) return null;
  const most = mostPadded(schedule, paddingOf(schedule, step) ?? []);
  const where = most
    ? ` Rank ${most.rank}, micro-batch ${most.cell} is padded most: ${formatPercent(most.share)} of it.`
    : "";
  return {
    head: `${formatPercent(step.padding_frac)} of the computed positions hold no token.`,
    detail: `Samples of like length beside each other would need fewer.${where}`,
  };
}

/** `8.1 points` between two fractions: the difference of what is shown of them, so that figures and sentences agree. */
function points(high: number, low: number): string {
  const shown = (fraction: number) => Number((fraction * 100).toFixed(1));
  return `${(shown(high) - shown(low)).toFixed(1)} points`;
}

/** Half a point is what rounding hides. */
const SAME = 0.005;

/** One sentence that compares measured, predicted and bound; empty where one is missing. `layout` names it: `dp 8`. */
export function idleSentence(step: StepFigures, layout: string): string {
  const idle = idleFigures(step);
  if (!idle) return "";
  const { measured, predicted, bound } = idle;
  if (measured - predicted > IDLE_POINTS) {
    return `The ranks waited ${points(measured, predicted)} more than was planned: some took longer than their lengths say.`;
  }
  if (predicted - bound <= SAME) {
    return `The plan is at its bound: under ${layout} no other schedule of these samples ends sooner.`;
  }
  return `The plan is ${points(predicted, bound)} above its bound: under ${layout} another schedule could end that much sooner at best.`;
}

/** For whom the ranks wait, and what of its work is most, where its work is why; null where nobody does. */
export function lastRankSentence(schedule: Schedule): { text: string; sample: number | undefined } | null {
  const last = lastRank(schedule);
  if (!last) return null;
  const { rank, aheadS, most } = last;
  const lead = `Rank ${rank} ends last, ${formatDuration(aheadS)} after the next.`;
  if (!most) return { text: lead, sample: undefined };
  const tokens = formatInteger(schedule.samples.num_tokens[most.sample] ?? 0);
  const text = `${lead} ${sampleName(most.sample)} is ${formatPercent(most.share)} of its work, with ${tokens} tokens.`;
  return { text, sample: most.sample };
}

/** Where the rollouts of the step's iteration went: `512 generated = 136 trained + 376 filtered (zero variance)`. */
export function booksSentence(step: StepRow): string {
  if (step.phase === "warm_start") return "A supervised step: nothing was generated for it.";
  const { num_generated: generated, num_filtered: filtered, num_dropped: dropped } = step;
  const [carriedIn, carriedOut] = [step.num_carried_in ?? 0, step.num_carried_out ?? 0];
  if (generated === null || filtered === null || dropped === null) return "";
  const came = generated + carriedIn;
  if (came === 0) {
    return `Rollouts of iteration ${formatInteger(step.iteration)}; its first step tells how many were generated.`;
  }
  const trained = came - filtered - dropped - carriedOut;
  const sum = (parts: readonly [number, string][], always: string) =>
    parts
      .filter(([count, word]) => count > 0 || word === always)
      .map(([count, word]) => `${formatInteger(count)} ${word}`)
      .join(" + ");
  const left = sum(
    [
      [carriedIn, "carried in"],
      [generated, "generated"],
    ],
    "generated",
  );
  const right = sum(
    [
      [trained, "trained"],
      [filtered, "filtered (zero variance)"],
      [dropped, "dropped"],
      [carriedOut, "carried to the next iteration"],
    ],
    "trained",
  );
  const books = `${left} = ${right}`;
  return trained === step.num_rollouts
    ? books
    : `${books}, over the steps of iteration ${formatInteger(step.iteration)}`;
}
