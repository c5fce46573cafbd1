/** The order of the list: newest first as the server gives it, or by a column. Pure. */
import type { RunSummary } from "@/api/types";

export const SORT_KEYS = [
  "name",
  "batch",
  "progress",
  "reward",
  "loss",
  "tokens",
  "started",
  "duration",
] as const;
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

/** A first click shows the greatest, of names the first; a second turns it round; a third is the server's order. */
export function nextSort(now: Sort | null, key: SortKey): Sort | null {
  const first = { key, isDescending: key !== "name" };
  if (now?.key !== key) return first;
  return now.isDescending === first.isDescending ? { key, isDescending: !first.isDescending } : null;
}

/** Runs without a value stand last, whichever way round. Equal ones keep their order. */
export function sortRuns(runs: readonly RunSummary[], { key, isDescending }: Sort): RunSummary[] {
  const sign = isDescending ? -1 : 1;
  const valued = runs.map((run, at) => ({ run, at, value: VALUES[key](run) }));
  return valued
    .sort((a, b) => {
      if (a.value === null || b.value === null) return Number(a.value === null) - Number(b.value === null);
      const order =
        typeof a.value === "string" && typeof b.value === "string"
          ? a.value.localeCompare(b.value)
          : Number(a.value) - Number(b.value);
      return order === 0 ? a.at - b.at : sign * order;
    })
    .map(({ run }) => run);
}

/** What is no number (NaN, Infinity) has no place among numbers. */
function finite(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

function timeOf(text: string | null | undefined): number | null {
  return text ? Date.parse(text) : null;
}

const VALUES: Record<SortKey, (run: RunSummary) => string | number | null> = {
  name: (run) => run.name,
  batch: (run) => finite(run.last?.global_batch_size),
  progress: (run) => (run.total_steps ? run.num_steps / run.total_steps : null),
  reward: (run) => finite(run.last?.reward),
  loss: (run) => finite(run.last?.loss),
  tokens: (run) => finite(run.last?.tokens_per_s),
  started: (run) => timeOf(run.started_at ?? run.created_at),
  duration: (run) => {
    const begun = timeOf(run.started_at);
    return begun === null ? null : (timeOf(run.ended_at) ?? Date.now()) - begun;
  },
};
