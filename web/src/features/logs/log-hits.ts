/** Finding a text in a log that is longer than what is shown, and going from hit to hit. */
import type { FetchLogPage } from "./log-reader";

/** Lines that hold the text, from the oldest on, as far as they have been counted. */
export interface Hits {
  ids: readonly number[];
  /** Counting ended before the log did. */
  isCut: boolean;
}

export const NO_HITS: Hits = { ids: [], isCut: false };

const PAGE_SIZE = 2000;
/** Somebody who gets so many hits looks for something else. */
const MOST_HITS = 10_000;
/** So many pages without an end take longer than anybody waits. */
const MOST_PAGES = 60;

/** All lines that a search matches, newest page first. */
export async function findHits(fetchPage: FetchLogPage, signal: AbortSignal): Promise<Hits> {
  let ids: number[] = [];
  let before: number | null = null;
  for (let pages = 0; pages < MOST_PAGES && ids.length < MOST_HITS; pages += 1) {
    const request: Parameters<FetchLogPage>[0] = { limit: PAGE_SIZE, ...(before !== null && { before }) };
    const page = await fetchPage(request, signal);
    ids = [...page.items.map(({ id }) => id), ...ids];
    before = page.next_before;
    if (before === null) return { ids, isCut: false };
  }
  return { ids, isCut: true };
}

/** The hit after, or before, this line; round the end to the other one. Null: there is none at all. */
export function nextHit(ids: readonly number[], from: number | null, by: 1 | -1): number | null {
  if (ids.length === 0) return null;
  // Reading begins at the end of the log: so does looking back.
  if (from === null) return (by === 1 ? ids[0] : ids.at(-1)) ?? null;
  const found = by === 1 ? ids.find((id) => id > from) : ids.findLast((id) => id < from);
  return found ?? (by === 1 ? ids[0] : ids.at(-1)) ?? null;
}
