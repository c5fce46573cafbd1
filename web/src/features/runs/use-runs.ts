/** The list as the filter wants it. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { type RunsFilter, runsOptions } from "@/api/runs";
import { useDebounced } from "@/lib/use-debounced";
import type { RunsSearch } from "./runs-search";
import { parseSort } from "./runs-sort";
import { groupByKey } from "./state-groups";

/** `view` names what is listed; null: it is not there yet, and the list of another one stands in its place. */
export function useRuns(search: RunsSearch) {
  const text = useDebounced(search.q ?? "");
  const sort = parseSort(search.sort);
  const filter: RunsFilter = {
    text,
    states: groupByKey(search.state)?.states ?? [],
    ...(search.tags && { tags: search.tags }),
    ...(search.archived && { archived: true }),
    ...(sort && { sort }),
  };
  // The list of the old filter stays until the new one is there.
  const query = useInfiniteQuery({ ...runsOptions(filter), placeholderData: (old) => old });
  return { query, view: query.isPlaceholderData ? null : JSON.stringify(filter) };
}

export type ShownRuns = ReturnType<typeof useRuns>;
