/** The window of time that is in view. Pure; it is zoomed and moved as the charts are. */
import type { XRange } from "@/components/chart/chart-group";

/** Narrower than this there is nothing to see: driver clocks tell milliseconds. */
export const LEAST_S = 0.002;

/** All the time there is. */
export function wholeOf({ durationS }: { durationS: number }): XRange {
  return { from: 0, to: durationS };
}

/** A window that holds this stretch with some air around it; never narrower than can be seen. */
export function around(from: number, to: number, durationS: number): XRange {
  const middle = (from + to) / 2;
  const half = Math.max(LEAST_S, (to - from) * 1.2) / 2;
  return { from: Math.max(0, middle - half), to: Math.min(durationS, middle + half) };
}

/** The window of the URL, cut to what there is; all of it where the URL names none that exists. */
export function windowOf(view: { from?: number; to?: number }, durationS: number): XRange {
  const { from, to } = view;
  const isThere = from !== undefined && to !== undefined && from < durationS && to > from;
  return isThere ? { from, to: Math.min(to, durationS) } : { from: 0, to: durationS };
}
