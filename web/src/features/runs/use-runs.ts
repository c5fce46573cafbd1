/** The list as the filter wants it. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { runsOptions } from "@/api/runs";
import { useDebounced } from "@/lib/use-debounced";
import type { RunsSearch } from "./runs-search";
import { parseSort } from "./runs-sort";
import { groupByKey } from "./state-groups";

export function useRuns(search: RunsSearch) {
  const text = useDebounced(search.q ?? "");
  const sort = parseSort(search.sort);
  return useInfiniteQuery({
    ...runsOptions({
      text,
      states: groupByKey(search.state)?.states ?? [],
      ...(search.tags && { tags: search.tags }),
      ...(search.archived && { archived: true }),
      ...(sort && { sort }),
    }),
    // The list of the old filter stays until the new one is there.
    placeholderData: (old) => old,
  });
}

export type RunsQuery = ReturnType<typeof useRuns>;
