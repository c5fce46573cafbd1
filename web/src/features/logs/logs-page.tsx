import { LoadingBars } from "@/components/loading-bars";
import type { LogsSearch, LogsSearchPatch } from "./logs-search";

export interface LogsPageProps {
  runId: string;
  search: LogsSearch;
  /** Merges into the URL without a new history entry; `undefined` removes a key. */
  setSearch: (patch: LogsSearchPatch) => void;
}

export function LogsPage(_props: LogsPageProps) {
  return <LoadingBars rows={8} />;
}
