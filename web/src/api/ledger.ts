/** The books of a run. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { client, dataOf } from "./client";

export interface StepRange {
  /** First step; the books count whole iterations. */
  from?: number | undefined;
  /** End of the steps, itself not included. */
  to?: number | undefined;
}

export function ledgerOptions(runId: string, { from, to }: StepRange) {
  return queryOptions({
    queryKey: ["ledger", runId, from ?? null, to ?? null],
    queryFn: async ({ signal }) =>
      dataOf(
        await client.GET("/api/v1/runs/{run_id}/ledger", {
          params: {
            path: { run_id: runId },
            query: { ...(from !== undefined && { from }), ...(to !== undefined && { to }) },
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
}
