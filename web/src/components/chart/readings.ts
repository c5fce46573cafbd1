/** What a track says at one x, and all of it in a sentence. Pure; for heads, tooltips, tables and screen readers. */
import { formatCount, formatInteger, formatMetric, formatRange, type MetricValue } from "@/lib/numbers";
import type { MetricTrack } from "./metric-track";
import type { NonFiniteCounts } from "./non-finite-marks";

export interface Reading {
  x: number;
  step: number;
  lastStep: number;
  value: MetricValue;
  /** Extremes of the bucket; null for a single point. */
  low: number | null;
  high: number | null;
}

/** The point or bucket at this index. */
export function readingAt(track: MetricTrack, index: number): Reading | null {
  const { columns } = track;
  const [x, step, lastStep] = [columns.x[index], columns.step[index], columns.lastStep[index]];
  if (x === undefined || step === undefined || lastStep === undefined) return null;
  const value = columns.value[index] ?? track.marks.find((mark) => mark.step === step)?.kind ?? null;
  const isBucket = lastStep > step;
  return {
    x,
    step,
    lastStep,
    value,
    low: isBucket ? (columns.low[index] ?? null) : null,
    high: isBucket ? (columns.high[index] ?? null) : null,
  };
}

/** The point nearest to x; without x the newest one. Null when there is none. */
export function readingNear(track: MetricTrack, x: number | null): Reading | null {
  const index = x === null ? track.columns.x.length - 1 : track.indexAt(x);
  return index === null ? null : readingAt(track, index);
}

/** `0.0214`, in a bucket `0.0214 (0.0190 to 0.0241)`. */
export function readingText(name: string, reading: Reading | null): string {
  if (reading === null) return formatMetric(name, null);
  const { value, low, high } = reading;
  const text = formatMetric(name, value);
  if (low === null || high === null || low === high) return text;
  return `${text} (${formatMetric(name, low)} to ${formatMetric(name, high)})`;
}

/** `Step 1,118`, of a bucket `Steps 1,118 to 1,119`. */
export function stepsText({ step, lastStep }: Pick<Reading, "step" | "lastStep">): string {
  return step === lastStep ? `Step ${formatInteger(step)}` : `Steps ${formatRange(step, lastStep)}`;
}

export function nonFiniteCounts(track: MetricTrack): NonFiniteCounts {
  const counts: NonFiniteCounts = {};
  for (const { kind } of track.marks) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/** `1 NaN, 2 Infinity`; empty when every value is finite. */
export function nonFiniteText(track: MetricTrack): string {
  return Object.entries(nonFiniteCounts(track))
    .map(([kind, count]) => `${formatInteger(count)} ${kind.replace("-", "−")}`)
    .join(", ");
}

/** A tenth of what was measured, at both ends, tells the trend. */
const TREND_SHARE = 0.1;
/** Below this share of the range a difference is none. */
const TREND_LEAST = 0.1;

export function trendOf(values: readonly number[]): "rising" | "falling" | "steady" {
  const low = values.reduce((least, value) => Math.min(least, value), Number.POSITIVE_INFINITY);
  const high = values.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY);
  const count = Math.max(1, Math.round(values.length * TREND_SHARE));
  const mean = (part: readonly number[]) => part.reduce((sum, value) => sum + value, 0) / part.length;
  const change = mean(values.slice(-count)) - mean(values.slice(0, count));
  if (Math.abs(change) <= TREND_LEAST * (high - low)) return "steady";
  return change > 0 ? "rising" : "falling";
}

/** The sentence that stands for a chart: last, least, greatest, trend, what is not finite, what was superseded. */
export function trackSentence(track: MetricTrack, label: string, isOverTime = false): string {
  const { name } = track;
  const last = readingNear(track, null);
  const finite = track.columns.value.filter((value): value is number => value !== null);
  if (last === null) return `${label}: no points yet.`;
  const oddities = [
    nonFiniteText(track),
    ...track.old.map(
      ({ attempt, columns }) =>
        `attempt ${attempt} superseded from step ${formatInteger(columns.step[0] ?? 0)}`,
    ),
  ].filter((text) => text !== "");
  const rest = oddities.length > 0 ? ` ${oddities.join("; ")}.` : "";
  if (finite.length === 0) return `${label}: no finite value in ${formatCount(track.total, "point")}.${rest}`;
  const low = track.columns.low.reduce<number>(
    (least, value) => Math.min(least, value ?? least),
    Number.POSITIVE_INFINITY,
  );
  const high = track.columns.high.reduce<number>(
    (most, value) => Math.max(most, value ?? most),
    Number.NEGATIVE_INFINITY,
  );
  return (
    `${label}: ${formatMetric(name, last.value)}${isOverTime ? " now" : ` at step ${formatInteger(last.lastStep)}`}, ` +
    `from ${formatMetric(name, low)} to ${formatMetric(name, high)}, ${trendOf(finite)}.${rest}`
  );
}
