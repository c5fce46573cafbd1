/** Who did what when within some steps. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { client, dataOf } from "./client";

/** Steps from the first to the last, both included, as far as one answer has room. */
export function timelineOptions(runId: string, first: number, last: number) {
  return queryOptions({
    queryKey: ["timeline", runId, first, last],
    queryFn: async ({ signal }) =>
      dataOf(
        await client.GET("/api/v1/runs/{run_id}/timeline", {
          params: { path: { run_id: runId }, query: { from: first, to: last + 1 } },
          signal,
        }),
      ),
    // The page keeps the old picture until the new one is there.
    placeholderData: keepPreviousData,
  });
}
