/** What of a run's large records is not kept any more. */
import { queryOptions } from "@tanstack/react-query";
import { client, dataOf } from "./client";

export function retentionOptions(runId: string) {
  return queryOptions({
    queryKey: ["retention", runId],
    queryFn: async ({ signal }) =>
      dataOf(
        await client.GET("/api/v1/runs/{run_id}/retention", { params: { path: { run_id: runId } }, signal }),
      ),
  });
}
