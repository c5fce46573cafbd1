/** The schedule of one step. It never changes once it is recorded. */
import { queryOptions } from "@tanstack/react-query";
import { client, dataOf } from "./client";

export function scheduleOptions(runId: string, step: number) {
  return queryOptions({
    queryKey: ["schedule", runId, step],
    queryFn: async ({ signal }) =>
      dataOf(
        await client.GET("/api/v1/runs/{run_id}/steps/{step}/schedule", {
          params: { path: { run_id: runId, step } },
          signal,
        }),
      ),
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: (old) => old,
  });
}
