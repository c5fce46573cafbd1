/** Checkpoints of a run, the highest step first. */
import { infiniteQueryOptions, useInfiniteQuery } from "@tanstack/react-query";
import { client, dataOf } from "./client";
import type { Checkpoint } from "./types";

const PAGE_SIZE = 200;

export function checkpointsOptions(runId: string) {
  return infiniteQueryOptions({
    queryKey: ["checkpoints", runId],
    initialPageParam: null as string | null,
    queryFn: async ({ pageParam, signal }) =>
      dataOf(
        await client.GET("/api/v1/runs/{run_id}/checkpoints", {
          params: {
            path: { run_id: runId },
            query: { limit: PAGE_SIZE, ...(pageParam !== null && { cursor: pageParam }) },
          },
          signal,
        }),
      ),
    getNextPageParam: (page) => page.next_cursor,
  });
}

/** Where a retry goes on from unless it is told another: the newest that is there and that the run follows from. */
export function newestKept(checkpoints: readonly Checkpoint[]): Checkpoint | null {
  return checkpoints.find(({ removed, superseded }) => !removed && !superseded) ?? null;
}

/** The step that a retry goes on from; null: from the beginning; undefined: not known yet. */
export function useResumeStep(runId: string): number | null | undefined {
  const { data } = useInfiniteQuery(checkpointsOptions(runId));
  return data && (newestKept(data.pages.flatMap(({ items }) => items))?.step ?? null);
}
