/** Puts a run that the live stream or an action told of into everything that is cached. Rows change in place. */
import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import type { Run, RunList, RunState, RunSummary } from "./types";

type RunListData = InfiniteData<RunList, string | null>;

/** True where a list has to be asked again: the run is new to it, changed its state, or was archived or taken back. */
export function patchRun(queryClient: QueryClient, run: RunSummary): boolean {
  let needsList = false;
  queryClient.setQueryData<Run>(["run", run.id], (old) => old && { ...old, ...run });
  queryClient.setQueriesData<RunListData>({ queryKey: ["runs"] }, (old) => {
    if (!old) return old;
    const known = old.pages.flatMap((page) => page.items).find((item) => item.id === run.id);
    if (!known || known.state !== run.state || known.archived_at !== run.archived_at) needsList = true;
    return known ? withRun(old, run, known.state) : old;
  });
  return needsList;
}

function withRun(data: RunListData, run: RunSummary, oldState: RunState): RunListData {
  return {
    ...data,
    pages: data.pages.map((page) => ({
      ...page,
      items: page.items.map((item) => (item.id === run.id ? run : item)),
      by_state: recount(page.by_state, oldState, run.state),
    })),
  };
}

/** The counts beside the filter stay true at once, without waiting for the list. */
export function recount(
  counts: RunList["by_state"],
  oldState: RunState,
  newState: RunState,
): RunList["by_state"] {
  if (oldState === newState) return counts;
  return {
    ...counts,
    [oldState]: Math.max(0, (counts[oldState] ?? 0) - 1),
    [newState]: (counts[newState] ?? 0) + 1,
  };
}
