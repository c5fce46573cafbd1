/** Lines of a run's logs, page by page. They do not pass through Query: there may be very many of them. */
import { queryOptions } from "@tanstack/react-query";
import { client, dataOf } from "./client";
import type { LogLevel, LogPage } from "./types";

export interface LogFilter {
  source?: string;
  /** At least. */
  level?: LogLevel;
  q?: string;
  attempt?: number;
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

/** Id of the first line of an attempt that is an error; null where none is, as when a process was killed. */
export function firstErrorOptions(runId: string, attempt: number) {
  return queryOptions({
    queryKey: ["first-error", runId, attempt],
    queryFn: async ({ signal }) => {
      const filter: LogFilter = { level: "error", ...(attempt > 0 && { attempt }) };
      const { items } = await fetchLogPage(runId, filter, { after: 0, limit: 1 }, signal);
      return items[0]?.id ?? null;
    },
  });
}
