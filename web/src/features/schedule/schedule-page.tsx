import type { ScheduleSearch } from "./schedule-search";

export interface SchedulePageProps {
  runId: string;
  search: ScheduleSearch;
  /** Merges into the URL without a new history entry; `undefined` removes a key. */
  setSearch: (patch: { [K in keyof ScheduleSearch]?: ScheduleSearch[K] | undefined }) => void;
}

export function SchedulePage({ runId }: SchedulePageProps) {
  return <p>{runId}</p>;
}
