/** The list in the order of a column. All pages are loaded for it, and the order holds while values change. */
import { useEffect, useMemo, useRef } from "react";
import type { RunSummary } from "@/api/types";
import { parseSort, sortRuns } from "./runs-sort";
import type { RunsQuery } from "./use-runs";

/** `sort` undefined: as the server gives it. */
export function useSortedRuns(
  runs: readonly RunSummary[],
  sort: string | undefined,
  { hasNextPage, isFetching, fetchNextPage }: Pick<RunsQuery, "hasNextPage" | "isFetching" | "fetchNextPage">,
): readonly RunSummary[] {
  const wanted = parseSort(sort);
  useEffect(() => {
    if (sort !== undefined && hasNextPage && !isFetching) void fetchNextPage();
  }, [sort, hasNextPage, isFetching, fetchNextPage]);
  const ids = runs.map(({ id }) => id).join(" ");
  const newest = useRef(runs);
  newest.current = runs;
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows must not jump with every value, only with the rows
  const order = useMemo(
    () => wanted && new Map(sortRuns(newest.current, wanted).map(({ id }, place) => [id, place])),
    [sort, ids],
  );
  if (!order) return runs;
  return [...runs].sort((a, b) => (order.get(a.id) ?? 0) - (order.get(b.id) ?? 0));
}
