/** What of the timeline's view lives in the URL. Parsed by the router; unknown or bad values fall away. */
export const COUNTS = [1, 5, 20, 100] as const;

export interface TimelineSearch {
  /** Absent: the newest step, also when newer ones come. */
  step?: number;
  /** So many steps that end with this one; absent: this one alone. */
  steps?: number;
  /** The part in view, in seconds from the start of the first step; both or none. */
  from?: number;
  to?: number;
  /** Kinds of actors whose lanes are folded into one; absent: those of very many actors. */
  folded?: string[];
  /** The table behind the picture. */
  table?: boolean;
}

export type TimelineSearchPatch = { [K in keyof TimelineSearch]?: TimelineSearch[K] | undefined };

export function parseTimelineSearch(raw: Record<string, unknown>): TimelineSearch {
  return {
    ...(isCount(raw.step) && { step: raw.step }),
    ...(isCount(raw.steps) && raw.steps > 1 && { steps: Math.min(raw.steps, COUNTS[3]) }),
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
