/** Puts a run that the live stream or an action told of into everything that is cached. Rows change in place. */
import type { InfiniteData, Query, QueryClient } from "@tanstack/react-query";
import type { Run, RunList, RunState, RunSummary } from "./types";

type RunListData = InfiniteData<RunList, string | null>;

/** True where a list has to be asked again: the run is new to it, changed its state, or was archived or taken back. */
export function patchRun(queryClient: QueryClient, run: RunSummary): boolean {
  let needsList = false;
  patch<Run>(queryClient, ["run", run.id], (old) => ({ ...old, ...run }));
  patch<RunListData>(queryClient, ["runs"], (old, query) => {
    const known = old.pages.flatMap((page) => page.items).find((item) => item.id === run.id);
    const isOld = !known || known.state !== run.state || known.archived_at !== run.archived_at;
    if (isOld) {
      needsList = true;
      // Also a list that nobody looks at: whoever opens it next asks.
      query.invalidate();
    }
    return known ? withRun(old, run, known.state) : old;
  });
  return needsList;
}

/** Writes into answers without making them young: Query would take one that has to be asked again for a fresh one. */
function patch<Data>(
  queryClient: QueryClient,
  queryKey: readonly unknown[],
  change: (old: Data, query: Query) => Data,
): void {
  for (const query of queryClient.getQueryCache().findAll({ queryKey })) {
    const old = query.state.data as Data | undefined;
    if (old === undefined) continue;
    const changed = change(old, query);
    if (changed === old) continue;
    const { dataUpdatedAt, isInvalidated } = query.state;
    queryClient.setQueryData(query.queryKey, changed, { updatedAt: dataUpdatedAt });
    if (isInvalidated) query.invalidate();
  }
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
