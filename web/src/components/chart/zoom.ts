/** Other ranges of the x axis: nearer, further, beside. Pure. */
import type { XKind, XRange } from "./chart-group";

/** Narrower than this, in units of the axis, there is nothing more to tell apart. */
const LEAST_SPAN: Record<XKind, number> = { step: 4, samples: 4, tokens: 4, time: 1, relative: 1 };

/** Two fingers that meet or cross, as a share of their distance before. */
const LEAST_APART = 0.05;

export function leastSpan(kind: XKind): number {
  return LEAST_SPAN[kind];
}

/** The range after zooming by `factor` around the cursor, or around the middle; null: all there is. One of less than
 * `least` is not made narrower. */
export function zoomed(
  range: XRange,
  domain: XRange,
  cursor: number | null,
  factor: number,
  least = 0,
): XRange | null {
  const before = range.to - range.from;
  const span = Math.max(before * factor, Math.min(least, before));
  const isInside = cursor !== null && cursor >= range.from && cursor <= range.to;
  const centre = isInside ? cursor : (range.from + range.to) / 2;
  // What was under the cursor stays under it.
  const share = (centre - range.from) / before;
  const from = Math.max(domain.from, centre - span * share);
  const to = Math.min(domain.to, from + span);
  return to - from >= (domain.to - domain.from) * (1 - 1e-9) ? null : { from, to };
}

/** The range moved by so much, stopped at the ends of the domain; one that reaches beyond an end moves back alone. */
export function panned(range: XRange, domain: XRange, by: number): XRange {
  const span = range.to - range.from;
  const least = Math.min(domain.from, range.from);
  const most = Math.max(domain.to - span, range.from);
  const from = Math.max(least, Math.min(range.from + by, most));
  return { from, to: from + span };
}

/** The range whose values stay under the pointers that hold them: one moves it, two also stretch it. `began` and `now`
 * are the pointers' places as shares of the width; null: all there is. */
export function held(
  range: XRange,
  domain: XRange,
  began: readonly number[],
  now: readonly number[],
  least = 0,
): XRange | null {
  const span = range.to - range.from;
  const [a = 0, b] = began;
  const [c = 0, d] = now;
  if (b === undefined || d === undefined || b === a) return panned(range, domain, (a - c) * span);
  const apart = Math.max(LEAST_APART, (d - c) / (b - a));
  const centre = range.from + ((a + b) / 2) * span;
  const stretched = zoomed(range, domain, centre, 1 / apart, least);
  return stretched && panned(stretched, domain, ((a + b - c - d) / 2) * (stretched.to - stretched.from));
}
