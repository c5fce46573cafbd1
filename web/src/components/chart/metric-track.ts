/** The points of one metric as a chart draws them: history first, then live points behind it, in place.
 *
 *      history (buckets or points)          live
 *   ●──●──●──●──╳  gap  ●──●──●──●──●   +   ●  ●  ●
 *                └ non-finite: null in the line, a mark at the edge
 *
 * Pages fill it, charts read its columns and redraw when told of a change. It never fetches.
 */
import type { MetricValue, NonFinite } from "@/lib/numbers";
import type { XRange } from "./chart-group";

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

function pushPoint(columns: Columns, point: LivePoint): void {
  const { step, value } = point;
  // A clock that was set back does not turn the line round.
  const x = Math.max(point.x, columns.x[columns.x.length - 1] ?? point.x);
  push(columns, { x, step, lastStep: step, value: typeof value === "number" ? value : null });
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
  /** The line from its first to its newest point, coarser than `columns` while those are a part; null: not known. */
  whole: Columns | null = null;
  /** Points that came live since `whole` was set. */
  wholeTail = 0;
  private wholeLastStep = -1;
  private wholeAttempt = 0;
  /** The range of which `columns` are the part of the line; null: they are all of it. */
  private range: XRange | null = null;
  private spliced: Columns | null = null;
  private listeners = new Set<() => void>();

  constructor(name: string) {
    this.name = name;
  }

  /** Calls `listener` after each change until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Replaces everything by a history; with that of a range what was known of the whole stays. */
  setHistory(series: readonly TrackSeries[], range: XRange | null = null): void {
    const current = currentOf(series);
    this.columns = columnsOf(current);
    this.marks = current.flatMap(marksOf);
    this.old = series.filter(({ superseded }) => superseded).map(oldSegment);
    this.total = current.reduce((sum, { total }) => sum + total, 0);
    this.sampled = current.some(({ sampled }) => sampled);
    this.tail = 0;
    this.attempts = current.map((one) => ({ from: firstStep(one), attempt: one.attempt }));
    this.attempt = attemptOf(series);
    this.lastStep = newestOf(this.columns);
    this.range = range;
    if (range === null) this.setWholeColumns(this.columns, this.attempt);
    this.changed();
  }

  /** Sets what stands around the part that is shown; null: it is not known any more. */
  setWhole(series: readonly TrackSeries[] | null): void {
    if (series && !this.isPart) return;
    this.setWholeColumns(series && columnsOf(currentOf(series)), attemptOf(series ?? []));
    this.changed();
  }

  private setWholeColumns(columns: Columns | null, attempt: number): void {
    this.whole = columns;
    this.wholeAttempt = attempt;
    this.wholeLastStep = columns ? newestOf(columns) : -1;
    this.wholeTail = 0;
  }

  /** Newest step of the line that is known, shown or not. */
  get newestStep(): number {
    return Math.max(this.lastStep, this.wholeLastStep);
  }

  /** Newest attempt that is known, shown or not; 0: none. */
  get newestAttempt(): number {
    return Math.max(this.attempt, this.wholeAttempt);
  }

  /** Whether `columns` are a part of the line. */
  get isPart(): boolean {
    return this.range !== null;
  }

  /** Whether `columns` reach to the newest point. */
  get isOpen(): boolean {
    return this.end === Number.POSITIVE_INFINITY;
  }

  private get end(): number {
    return this.range?.to ?? Number.POSITIVE_INFINITY;
  }

  /** What is drawn: the line, or a part of it with the whole at both sides, so that the frame can be moved over it. */
  get drawn(): Columns {
    if (!this.isPart || !this.whole) return this.columns;
    this.spliced ??= splice(this.whole, this.columns);
    return this.spliced;
  }

  /** Appends a live point that is new; one that the line already has, or that was not measured, changes nothing. */
  append(point: LivePoint): void {
    if (point.value === null) return;
    if (this.isPart && this.whole && point.step > this.wholeLastStep) {
      pushPoint(this.whole, point);
      this.wholeLastStep = point.step;
      this.wholeAttempt = Math.max(this.wholeAttempt, point.attempt);
      this.wholeTail += 1;
      this.changed();
    }
    const isShown = point.x >= (this.range?.from ?? Number.NEGATIVE_INFINITY) && point.x < this.end;
    if (isShown && point.step > this.lastStep) this.appendToLine(point);
  }

  private appendToLine(point: LivePoint): void {
    pushPoint(this.columns, point);
    if (typeof point.value === "string") this.marks.push({ x: point.x, step: point.step, kind: point.value });
    this.lastStep = point.step;
    if (point.attempt > this.attempt) {
      this.attempts.push({ from: point.step, attempt: point.attempt });
      this.attempt = point.attempt;
    }
    this.total += 1;
    this.tail += 1;
    this.changed();
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

  private changed(): void {
    this.spliced = null;
    for (const listener of this.listeners) listener();
  }
}

function currentOf(series: readonly TrackSeries[]): TrackSeries[] {
  return series.filter(({ superseded }) => !superseded).sort((a, b) => firstStep(a) - firstStep(b));
}

function attemptOf(series: readonly TrackSeries[]): number {
  return series.reduce((newest, { attempt }) => Math.max(newest, attempt), 0);
}

function columnsOf(current: readonly TrackSeries[]): Columns {
  const columns = emptyColumns();
  for (const one of current) pushSeries(columns, one);
  return ascending(columns);
}

/** Over time a clock that was set back, or another machine's, lets x fall from one step to the next: a line is drawn
 * from left to right all the same. */
function ascending(columns: Columns): Columns {
  const { x } = columns;
  if (x.every((at, i) => i === 0 || at >= (x[i - 1] as number))) return columns;
  return picked(
    columns,
    x.map((_, i) => i).sort((a, b) => (x[a] as number) - (x[b] as number)),
  );
}

/** These rows, in this order. */
function picked(columns: Columns, rows: readonly number[]): Columns {
  const pick = <Cell>(cells: readonly Cell[]) => rows.map((row) => cells[row] as Cell);
  return {
    x: pick(columns.x),
    step: pick(columns.step),
    lastStep: pick(columns.lastStep),
    value: pick(columns.value),
    low: pick(columns.low),
    high: pick(columns.high),
  };
}

function newestOf({ lastStep }: Columns): number {
  return lastStep.reduce((newest, step) => Math.max(newest, step), -1);
}

/** The part in place of what the whole has of the same steps. */
function splice(whole: Columns, part: Columns): Columns {
  if (part.step.length === 0) return whole;
  const first = part.step.reduce((least, step) => Math.min(least, step), Number.POSITIVE_INFINITY);
  const last = newestOf(part);
  const rows = whole.step.map((_, row) => row);
  const before = picked(
    whole,
    rows.filter((row) => (whole.lastStep[row] as number) < first),
  );
  const after = picked(
    whole,
    rows.filter((row) => (whole.step[row] as number) > last),
  );
  return ascending({
    x: [...before.x, ...part.x, ...after.x],
    step: [...before.step, ...part.step, ...after.step],
    lastStep: [...before.lastStep, ...part.lastStep, ...after.lastStep],
    value: [...before.value, ...part.value, ...after.value],
    low: [...before.low, ...part.low, ...after.low],
    high: [...before.high, ...part.high, ...after.high],
  });
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
