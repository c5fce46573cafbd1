import type { RunSearch } from "./run-search";

export interface RunPageProps {
  runId: string;
  search: RunSearch;
  /** Merges into the URL without a new history entry; `undefined` removes a key. */
  setSearch: (patch: { [K in keyof RunSearch]?: RunSearch[K] | undefined }) => void;
}

export function RunPage({ runId }: RunPageProps) {
  return <p>{runId}</p>;
}
