/** The order of the list: newest first, or by a column. The server sorts; here are the words of the address. Pure. */

export const SORT_KEYS = ["state", "name", "batch_size", "steps", "reward", "loss", "started"] as const;
export type SortKey = (typeof SORT_KEYS)[number];

export interface Sort {
  key: SortKey;
  isDescending: boolean;
}

/** `reward`, or `-reward` for the greatest first. */
export function parseSort(raw: unknown): Sort | null {
  if (typeof raw !== "string") return null;
  const isDescending = raw.startsWith("-");
  const key = SORT_KEYS.find((known) => known === raw.slice(isDescending ? 1 : 0));
  return key === undefined ? null : { key, isDescending };
}

export function sortText({ key, isDescending }: Sort): string {
  return `${isDescending ? "-" : ""}${key}`;
}

const FIRST_COMES_FIRST: readonly SortKey[] = ["name", "state"];

/** A first click shows the greatest, of names and states the first; a second turns it round; a third is as before. */
export function nextSort(now: Sort | null, key: SortKey): Sort | null {
  const first = { key, isDescending: !FIRST_COMES_FIRST.includes(key) };
  if (now?.key !== key) return first;
  return now.isDescending === first.isDescending ? { key, isDescending: !first.isDescending } : null;
}
