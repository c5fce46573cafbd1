/** The y axis of a live chart: it grows to the next tick when data leaves it, and does not shrink. Pure. */
import { byteUnit } from "@/lib/bytes";
import { type Axis, linearAxis, logAxis, rowAxis } from "./ticks";

export interface YRangeRule {
  /** Whether 0 belongs to the axis: batch size and every `_frac`. */
  fromZero: boolean;
  log: boolean;
  /** A fixed number of rows, for axes that share their grid; otherwise 3 to 5 ticks. */
  rows?: number;
  integer?: boolean;
  /** Sizes: ticks are round in the binary unit of the largest. */
  bytes?: boolean;
}

function axisFor(low: number, high: number, rule: YRangeRule): Axis {
  if (rule.log) return logAxis(low, high);
  const from = rule.fromZero ? Math.min(0, low) : low;
  const to = rule.fromZero ? Math.max(0, high) : high;
  if (rule.bytes) return sizeAxis(from, to);
  return rule.rows === undefined ? linearAxis(from, to) : rowAxis(from, to, rule.rows, rule.integer);
}

function sizeAxis(from: number, to: number): Axis {
  const { size } = byteUnit(to);
  const { min, max, step, ticks } = linearAxis(from / size, to / size);
  return { min: min * size, max: max * size, step: step * size, ticks: ticks.map((tick) => tick * size) };
}

/** An axis for values from low to high; `null` bounds (no finite value) give 0 to 1, or 1 to 10 when logarithmic. */
export function yAxis(low: number | null, high: number | null, rule: YRangeRule): Axis {
  if (low === null || high === null) return rule.log ? logAxis(1, 10) : axisFor(0, 1, rule);
  return axisFor(low, high, rule);
}

/** The axis before if it still holds everything; else one that holds both it and the new values. */
export function growAxis(
  before: Axis | null,
  low: number | null,
  high: number | null,
  rule: YRangeRule,
): Axis {
  if (before === null || low === null || high === null) return before ?? yAxis(low, high, rule);
  if (low >= before.min && high <= before.max) return before;
  // Only the side that was left moves: the other one may have been a tick of a coarser step.
  return axisFor(Math.min(low, before.min), Math.max(high, before.max), rule);
}
