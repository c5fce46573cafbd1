import type { XRange } from "./chart-group";

/** The range after zooming by `factor` around the cursor, or around the middle; null: all there is. Pure. */
export function zoomed(range: XRange, domain: XRange, cursor: number | null, factor: number): XRange | null {
  const span = (range.to - range.from) * factor;
  const isInside = cursor !== null && cursor >= range.from && cursor <= range.to;
  const centre = isInside ? cursor : (range.from + range.to) / 2;
  // What was under the cursor stays under it.
  const share = (centre - range.from) / (range.to - range.from);
  const from = Math.max(domain.from, centre - span * share);
  const to = Math.min(domain.to, from + span);
  return to - from >= (domain.to - domain.from) * (1 - 1e-9) ? null : { from, to };
}
