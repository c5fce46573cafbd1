/** What is odd about the newest steps of a run, with its evidence and what to do. */
import { queryOptions } from "@tanstack/react-query";
import { client, dataOf } from "./client";

/** Steps that are looked at. */
const NUM_STEPS = 50;

export function advisoriesOptions(runId: string) {
  return queryOptions({
    queryKey: ["advisories", runId],
    queryFn: async ({ signal }) =>
      dataOf(
        await client.GET("/api/v1/runs/{run_id}/advisories", {
          params: { path: { run_id: runId }, query: { steps: NUM_STEPS } },
          signal,
        }),
      ),
  });
}
