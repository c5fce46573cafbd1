/** Lines of a run's logs, page by page. They do not pass through Query: there may be very many of them. */
import { client, dataOf } from "./client";
import type { LogLevel, LogPage } from "./types";

export interface LogFilter {
  source?: string;
  /** At least. */
  level?: LogLevel;
  q?: string;
}

export interface LogPageRequest {
  /** Lines with lower, or with higher, ids; the newest ones where neither is given. */
  before?: number;
  after?: number;
  limit: number;
}

export async function fetchLogPage(
  runId: string,
  filter: LogFilter,
  request: LogPageRequest,
  signal: AbortSignal,
): Promise<LogPage> {
  return dataOf(
    await client.GET("/api/v1/runs/{run_id}/logs", {
      params: { path: { run_id: runId }, query: { ...filter, ...request } },
      signal,
    }),
  );
}
