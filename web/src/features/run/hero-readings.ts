/** The six values that belong together at one step, as the tooltip and, on narrow screens, the dock write them. Pure. */
import type { MetricTrack } from "@/components/chart/metric-track";
import { type Reading, readingNear, readingText, stepsText } from "@/components/chart/readings";
import { formatInteger, formatPercent, MISSING, NBSP } from "@/lib/numbers";

export interface HeroTracks {
  batch: MetricTrack;
  loss: MetricTrack;
  microBatches: MetricTrack;
  dummies: MetricTrack;
  idle: MetricTrack;
  idleBound: MetricTrack;
  lr: MetricTrack;
}

export interface HeroReadings {
  /** First step of the bucket. */
  step: number;
  title: string;
  attempt: number | null;
  loss: string;
  batch: string;
  microBatches: string;
  dummies: string | null;
  idle: string;
  idleBound: string | null;
  lr: string;
}

/** Values at the x of the cursor, without one the newest; null before the first step. `meansOnly` where a bucket's
 * extremes have no room: the band shows them. */
export function heroReadings(tracks: HeroTracks, x: number | null, meansOnly = false): HeroReadings | null {
  const batch = readingNear(tracks.batch, x);
  if (!batch) return null;
  const cut = (reading: Reading | null) =>
    reading && (meansOnly ? { ...reading, low: null, high: null } : reading);
  const at = (track: MetricTrack) => cut(sameSteps(readingNear(track, batch.x), batch));
  const dummies = at(tracks.dummies);
  const bound = at(tracks.idleBound);
  return {
    step: batch.step,
    title: stepsText(batch),
    attempt: tracks.batch.attemptAt(batch.step),
    loss: readingText(tracks.loss.name, at(tracks.loss)),
    batch: meanText(cut(batch), formatInteger),
    microBatches: meanText(at(tracks.microBatches), formatInteger),
    dummies: dummies && dummies.value !== 0 ? `${meanText(dummies, formatInteger)}${NBSP}dummies` : null,
    idle: readingText(tracks.idle.name, at(tracks.idle)),
    idleBound: bound && typeof bound.value === "number" ? `bound ${formatPercent(bound.value)}` : null,
    lr: readingText(tracks.lr.name, at(tracks.lr)),
  };
}

/** A reading counts only where it covers the step: a metric that was not measured there has no value. */
function sameSteps(reading: Reading | null, { step, lastStep }: Reading): Reading | null {
  return reading && reading.step <= lastStep && reading.lastStep >= step ? reading : null;
}

/** Means of counts are rounded; their extremes are what was counted. */
function meanText(reading: Reading | null, format: (value: number) => string): string {
  if (!reading || typeof reading.value !== "number") return MISSING;
  const { value, low, high } = reading;
  if (low === null || high === null || low === high) return format(value);
  return `${format(value)} (${format(low)} to ${format(high)})`;
}
