import { LoadingBars } from "@/components/loading-bars";
import type { TimelineSearch, TimelineSearchPatch } from "./timeline-search";

export interface TimelinePageProps {
  runId: string;
  search: TimelineSearch;
  /** Merges into the URL without a new history entry; `undefined` removes a key. */
  setSearch: (patch: TimelineSearchPatch) => void;
}

export function TimelinePage(_props: TimelinePageProps) {
  return <LoadingBars rows={8} />;
}
