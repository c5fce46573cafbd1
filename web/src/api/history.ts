/** Metrics of a run and their history. */
import { queryOptions } from "@tanstack/react-query";
import { client, dataOf } from "./client";
import type { Aggregation, MetricHistory, XAxis } from "./types";

export interface HistoryRequest {
  runs: readonly string[];
  names: readonly string[];
  x: XAxis;
  /** Ends of the range on the x axis, the second not included; absent: all. */
  from?: number;
  to?: number;
  /** Also the steps that a later attempt trained again, as series of their own. */
  superseded?: boolean;
  maxPoints: number;
  agg: Aggregation;
}

export function catalogueOptions(runId: string) {
  return queryOptions({
    queryKey: ["metrics", runId],
    queryFn: async ({ signal }) =>
      dataOf(
        await client.GET("/api/v1/runs/{run_id}/metrics", { params: { path: { run_id: runId } }, signal }),
      ),
  });
}

/** Asks for columns of points. For charts that keep points outside React; others use `historyOptions`. */
export async function fetchHistory(request: HistoryRequest, signal?: AbortSignal): Promise<MetricHistory> {
  return dataOf(
    await client.GET("/api/v1/metrics/query", {
      params: {
        query: {
          run: [...request.runs],
          name: [...request.names],
          x: request.x,
          max_points: request.maxPoints,
          agg: request.agg,
          ...(request.superseded && { superseded: true }),
          ...(request.from !== undefined && { from: request.from }),
          ...(request.to !== undefined && { to: request.to }),
        },
      },
      ...(signal && { signal }),
    }),
  );
}

export function historyOptions(request: HistoryRequest) {
  return queryOptions({
    queryKey: ["history", request],
    queryFn: ({ signal }) => fetchHistory(request, signal),
    // The picture of the old range stays until the new one is there.
    placeholderData: (old) => old,
  });
}
