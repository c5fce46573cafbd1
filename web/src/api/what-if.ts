/** A step that ran, scheduled otherwise. */
import { queryOptions } from "@tanstack/react-query";
import { client, dataOf } from "./client";
import type { WhatIfRequest } from "./types";

export function whatIfOptions(runId: string, step: number, request: WhatIfRequest) {
  return queryOptions({
    queryKey: ["whatif", runId, step, request],
    queryFn: async ({ signal }) =>
      dataOf(
        await client.POST("/api/v1/runs/{run_id}/steps/{step}/whatif", {
          params: { path: { run_id: runId, step } },
          body: request,
          signal,
        }),
      ),
    // The picture of the old settings stays until the new one is there.
    placeholderData: (old) => old,
  });
}
