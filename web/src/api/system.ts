/** How busy the machine of a run is, and how much waits in the server. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { client, dataOf, getText } from "./client";

/** The stream does not tell samples of the machine. */
const EVERY_MS = 5000;
const MAX_POINTS = 300;
/** The server leaves the end of a range out; a stretch that is chosen on a chart ends at a sample, which belongs to it. */
const JUST_AFTER_S = 0.001;

export interface TimeRange {
  /** In seconds since 1970; both or none. */
  from?: number | undefined;
  to?: number | undefined;
}

export function systemOptions(runId: string, { from, to }: TimeRange, isLive: boolean) {
  return queryOptions({
    queryKey: ["system", runId, from ?? null, to ?? null],
    queryFn: async ({ signal }) =>
      dataOf(
        await client.GET("/api/v1/runs/{run_id}/system", {
          params: {
            path: { run_id: runId },
            query: {
              max_points: MAX_POINTS,
              ...(from !== undefined && { from }),
              ...(to !== undefined && { to: to + JUST_AFTER_S }),
            },
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: isLive ? EVERY_MS : false,
  });
}

const QUEUED = /^swell_queued_writes (\d+(?:\.\d+)?)$/m;

/** Writes that wait for the server's database; null: the server does not tell. */
export function queuedWritesOptions(isLive: boolean) {
  return queryOptions({
    queryKey: ["queued-writes"],
    queryFn: async ({ signal }): Promise<number | null> => {
      const found = QUEUED.exec(await getText("/metrics", signal));
      return found ? Number(found[1]) : null;
    },
    refetchInterval: isLive ? EVERY_MS : false,
  });
}
