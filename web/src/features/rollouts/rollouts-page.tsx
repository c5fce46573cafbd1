import { LoadingBars } from "@/components/loading-bars";
import type { RolloutsSearch, RolloutsSearchPatch } from "./rollouts-search";

export interface RolloutsPageProps {
  runId: string;
  search: RolloutsSearch;
  /** Merges into the URL without a new history entry; `undefined` removes a key. */
  setSearch: (patch: RolloutsSearchPatch) => void;
}

export function RolloutsPage(_props: RolloutsPageProps) {
  return <LoadingBars rows={8} />;
}
