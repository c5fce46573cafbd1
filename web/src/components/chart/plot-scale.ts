/** From an axis with its ticks to the ends of the whole plot: an axis may fill only a part of the grid's rows. Pure. */
import type { Axis } from "./ticks";

export interface Ends {
  min: number;
  max: number;
}

/** Values at the bottom and top of the plot when the axis fills rows `from` to `to` of `rows`. */
export function plotEnds(axis: Axis, log: boolean, part?: { rows: number; from: number; to: number }): Ends {
  if (!part) return { min: axis.min, max: axis.max };
  const place = log ? Math.log10 : (value: number) => value;
  const value = log ? (at: number) => 10 ** at : (at: number) => at;
  const low = place(axis.min);
  const row = (place(axis.max) - low) / (part.to - part.from);
  return { min: value(low - part.from * row), max: value(low + (part.rows - part.from) * row) };
}
