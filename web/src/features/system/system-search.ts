/** Which stretch of time is shown, in the URL. */
export interface SystemSearch {
  /** Ends of the zoomed range, in seconds since 1970; both or none. */
  from?: number;
  to?: number;
}

export type SystemSearchPatch = { [K in keyof SystemSearch]?: SystemSearch[K] | undefined };

export function parseSystemSearch(raw: Record<string, unknown>): SystemSearch {
  const [from, to] = [raw.from, raw.to];
  const isRange = isMoment(from) && isMoment(to) && from < to;
  return isRange ? { from, to } : {};
}

function isMoment(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
