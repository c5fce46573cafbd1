/** The points of one metric as a chart draws them: history first, then live points behind it, in place.
 *
 *      history (buckets or points)          live
 *   ●──●──●──●──╳  gap  ●──●──●──●──●   +   ●  ●  ●
 *                └ non-finite: null in the line, a mark at the edge
 *
 * Pages fill it, charts read its columns and redraw when told of a change. It never fetches.
 */
import type { MetricValue, NonFinite } from "@/lib/numbers";

/** A series of the history, as the API answers it. */
export interface TrackSeries {
  attempt: number;
  superseded: boolean;
  total: number;
  sampled: boolean;
  x: readonly number[];
  step: readonly number[];
  last_step: readonly number[];
  /** Null: a gap, as where a machine was away. */
  value: readonly (number | null)[];
  min: readonly number[] | null;
  max: readonly number[] | null;
  non_finite: readonly { x: number; step: number; value: NonFinite }[];
}

export interface NonFiniteMark {
  x: number;
  step: number;
  kind: NonFinite;
}

/** What an earlier attempt trained and a later one trained again. */
export interface OldSegment {
  attempt: number;
  columns: Columns;
  marks: NonFiniteMark[];
}

/** Columns of equal length, ascending in x. A null value is a gap in the line. */
export interface Columns {
  x: number[];
  /** First and last step of the bucket; equal for a single point. */
  step: number[];
  lastStep: number[];
  value: (number | null)[];
  /** Extremes of the bucket; the value itself for a single point. */
  low: (number | null)[];
  high: (number | null)[];
}

export interface LivePoint {
  attempt: number;
  x: number;
  step: number;
  /** Null: not measured at this step. */
  value: MetricValue;
}

function emptyColumns(): Columns {
  return { x: [], step: [], lastStep: [], value: [], low: [], high: [] };
}

function push(
  columns: Columns,
  row: { x: number; step: number; lastStep: number; value: number | null },
): void {
  columns.x.push(row.x);
  columns.step.push(row.step);
  columns.lastStep.push(row.lastStep);
  columns.value.push(row.value);
  columns.low.push(row.value);
  columns.high.push(row.value);
}

function marksOf(series: TrackSeries): NonFiniteMark[] {
  return series.non_finite.map(({ x, step, value }) => ({ x, step, kind: value }));
}

/** Appends a series to `columns`; each non-finite point becomes a gap at its x. */
function pushSeries(columns: Columns, series: TrackSeries): void {
  const gaps = [...series.non_finite].sort((a, b) => a.x - b.x);
  let next = 0;
  const gapsBefore = (x: number) => {
    for (let gap = gaps[next]; gap !== undefined && gap.x < x; gap = gaps[++next]) {
      push(columns, { x: gap.x, step: gap.step, lastStep: gap.step, value: null });
    }
  };
  series.x.forEach((x, i) => {
    gapsBefore(x);
    const step = series.step[i] as number;
    push(columns, { x, step, lastStep: series.last_step[i] ?? step, value: series.value[i] ?? null });
    const at = columns.x.length - 1;
    if (series.min) columns.low[at] = series.min[i] ?? null;
    if (series.max) columns.high[at] = series.max[i] ?? null;
  });
  gapsBefore(Number.POSITIVE_INFINITY);
}

export class MetricTrack {
  readonly name: string;
  columns = emptyColumns();
  marks: NonFiniteMark[] = [];
  old: OldSegment[] = [];
  /** Points behind the line, drawn one by one or not; non-finite ones included, superseded ones not. */
  total = 0;
  sampled = false;
  /** Points that came live since the last history. */
  tail = 0;
  /** Attempts of the line by their first step, ascending. */
  attempts: { from: number; attempt: number }[] = [];
  /** Newest attempt and step seen, measured or not: what a live point has to be behind. */
  attempt = 0;
  lastStep = -1;
  private listeners = new Set<() => void>();

  constructor(name: string) {
    this.name = name;
  }

  /** Calls `listener` after each change until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Replaces everything by a history. */
  setHistory(series: readonly TrackSeries[]): void {
    const current = series
      .filter(({ superseded }) => !superseded)
      .sort((a, b) => firstStep(a) - firstStep(b));
    this.columns = emptyColumns();
    for (const one of current) pushSeries(this.columns, one);
    this.marks = current.flatMap(marksOf);
    this.old = series.filter(({ superseded }) => superseded).map(oldSegment);
    this.total = current.reduce((sum, { total }) => sum + total, 0);
    this.sampled = current.some(({ sampled }) => sampled);
    this.tail = 0;
    this.attempts = current.map((one) => ({ from: firstStep(one), attempt: one.attempt }));
    this.attempt = Math.max(0, ...series.map(({ attempt }) => attempt));
    this.lastStep = this.columns.lastStep[this.columns.lastStep.length - 1] ?? -1;
    this.notify();
  }

  /** Appends a live point that is new; one that the line already has, or that was not measured, changes nothing. */
  append(point: LivePoint): void {
    if (point.value === null || point.step <= this.lastStep) return;
    const value = typeof point.value === "number" ? point.value : null;
    push(this.columns, { x: point.x, step: point.step, lastStep: point.step, value });
    if (typeof point.value === "string") this.marks.push({ x: point.x, step: point.step, kind: point.value });
    this.lastStep = point.step;
    if (point.attempt > this.attempt) {
      this.attempts.push({ from: point.step, attempt: point.attempt });
      this.attempt = point.attempt;
    }
    this.total += 1;
    this.tail += 1;
    this.notify();
  }

  /** Index of the point nearest to x, or null when there is none. */
  indexAt(x: number): number | null {
    return nearestIndex(this.columns.x, x);
  }

  /** The attempt that a step of the line is from; null when it is not known. */
  attemptAt(step: number): number | null {
    return this.attempts.findLast(({ from }) => from <= step)?.attempt ?? null;
  }

  /** Steps of the longest bucket; 1 when all points are drawn. */
  get stepsPerBucket(): number {
    return this.columns.step.reduce(
      (most, step, i) => Math.max(most, (this.columns.lastStep[i] ?? step) - step + 1),
      1,
    );
  }

  private notify(): void {
    for (const listener of this.listeners) listener();
  }
}

function firstStep(series: TrackSeries): number {
  return Math.min(
    series.step[0] ?? Number.POSITIVE_INFINITY,
    series.non_finite[0]?.step ?? Number.POSITIVE_INFINITY,
  );
}

function oldSegment(series: TrackSeries): OldSegment {
  const columns = emptyColumns();
  pushSeries(columns, series);
  return { attempt: series.attempt, columns, marks: marksOf(series) };
}

/** Index of the entry nearest to x in an ascending list, or null when it is empty. */
export function nearestIndex(xs: readonly number[], x: number): number | null {
  if (xs.length === 0) return null;
  let low = 0;
  let high = xs.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((xs[middle] as number) < x) low = middle + 1;
    else high = middle;
  }
  const before = low - 1;
  return before >= 0 && x - (xs[before] as number) <= (xs[low] as number) - x ? before : low;
}

/** `sampled: 1,000 of 20,000` needs both numbers; null when all points are drawn. */
export function sampledCounts(track: MetricTrack): { shown: number; total: number } | null {
  return track.sampled ? { shown: track.columns.x.length, total: track.total } : null;
}
