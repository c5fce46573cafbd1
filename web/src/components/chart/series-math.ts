/** Columns for the canvas: smoothing, extremes, points on a log scale, two metrics over one x. Pure. */
import type { Columns } from "./metric-track";

/** Exponential moving average that keeps the share `keep` of itself per step, whatever the points' distance, so that a
 * sampled line is smoothed like the full one. It begins at the first value; a gap stays a gap. */
export function smooth(columns: Pick<Columns, "step" | "value">, keep: number): (number | null)[] {
  let mean: number | null = null;
  let before = 0;
  return columns.value.map((value, i) => {
    if (value === null) return null;
    const step = columns.step[i] as number;
    const kept: number = keep ** Math.max(1, step - before);
    before = step;
    mean = mean === null ? value : mean * kept + value * (1 - kept);
    return mean;
  });
}

export interface Extent {
  low: number | null;
  high: number | null;
}

/** Least and greatest entry of the columns with x in [from, to]; only positive ones with `positive`. */
export function extent(
  x: readonly number[],
  columns: readonly (readonly (number | null)[])[],
  from: number,
  to: number,
  positive = false,
): Extent {
  let low: number | null = null;
  let high: number | null = null;
  for (let i = 0; i < x.length; i++) {
    const at = x[i] as number;
    if (at < from || at > to) continue;
    for (const column of columns) {
      const value = column[i];
      if (value === null || value === undefined || (positive && value <= 0)) continue;
      if (low === null || value < low) low = value;
      if (high === null || value > high) high = value;
    }
  }
  return { low, high };
}

export function union(a: Extent, b: Extent): Extent {
  return {
    low: a.low === null ? b.low : b.low === null ? a.low : Math.min(a.low, b.low),
    high: a.high === null ? b.high : b.high === null ? a.high : Math.max(a.high, b.high),
  };
}

/** The same column for a log scale: what has no logarithm becomes a gap, and is counted. */
export function positiveOnly(values: readonly (number | null)[]): {
  values: (number | null)[];
  hidden: number;
} {
  let hidden = 0;
  const kept = values.map((value) => {
    if (value === null || value > 0) return value;
    hidden += 1;
    return null;
  });
  return { values: kept, hidden };
}

/** A value, a gap (null), or nothing at this x (undefined), as uPlot tells them apart. */
export type Cell = number | null | undefined;

/** Several columns with an x of their own on one shared, ascending x. */
export function joinColumns(parts: readonly { x: readonly number[]; values: readonly (number | null)[] }[]): {
  x: number[];
  columns: Cell[][];
} {
  const x: number[] = [];
  const columns: Cell[][] = parts.map(() => []);
  const next = parts.map(() => 0);
  for (;;) {
    let at = Number.POSITIVE_INFINITY;
    for (let k = 0; k < parts.length; k++) at = Math.min(at, parts[k]?.x[next[k] as number] ?? at);
    if (at === Number.POSITIVE_INFINITY) return { x, columns };
    x.push(at);
    for (let k = 0; k < parts.length; k++) {
      const i = next[k] as number;
      const here = parts[k]?.x[i] === at;
      columns[k]?.push(here ? parts[k]?.values[i] : undefined);
      if (here) next[k] = i + 1;
    }
  }
}

/** Indices of points with a gap or an end on both sides: a line through them would be invisible. */
export function lonePoints(values: readonly Cell[]): number[] {
  const lone: number[] = [];
  // undefined is no gap: the line passes over it.
  const indices = values.flatMap((value, i) => (value === undefined ? [] : [i]));
  indices.forEach((i, k) => {
    const before = indices[k - 1];
    const after = indices[k + 1];
    const isGap = (j: number | undefined) => j === undefined || values[j] === null;
    if (values[i] !== null && isGap(before) && isGap(after)) lone.push(i);
  });
  return lone;
}
