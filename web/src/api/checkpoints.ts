/** Checkpoints of a run, the highest step first. */
import { infiniteQueryOptions } from "@tanstack/react-query";
import { client, dataOf } from "./client";

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
