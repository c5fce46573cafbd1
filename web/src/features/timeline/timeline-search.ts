/** What of the timeline's view lives in the URL. Parsed by the router; unknown or bad values fall away. */
export interface TimelineSearch {
  /** Absent: the newest step, also when newer ones come. */
  step?: number;
  /** The last step of a range that begins with `step`. */
  last?: number;
  /** The part in view, in seconds from the start of the first step; both or none. */
  from?: number;
  to?: number;
  /** Kinds of actors whose lanes are folded into one; absent: as many lanes as are easily read. */
  folded?: string[];
  /** The table behind the picture. */
  table?: boolean;
}

export type TimelineSearchPatch = { [K in keyof TimelineSearch]?: TimelineSearch[K] | undefined };

export function parseTimelineSearch(raw: Record<string, unknown>): TimelineSearch {
  const step = isCount(raw.step) ? raw.step : undefined;
  const isRange = step !== undefined && isCount(raw.last) && raw.last > step;
  return {
    ...(step !== undefined && { step }),
    ...(isRange && { last: raw.last as number }),
    ...parseView(raw.from, raw.to),
    ...(Array.isArray(raw.folded) && { folded: raw.folded.filter((kind) => typeof kind === "string") }),
    ...(raw.table === true && { table: true }),
  };
}

function parseView(from: unknown, to: unknown): { from: number; to: number } | Record<string, never> {
  const isView = typeof from === "number" && typeof to === "number" && from >= 0 && to > from;
  return isView && Number.isFinite(to) ? { from, to } : {};
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
