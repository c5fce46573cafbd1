/** Groups of rollouts, one rollout with its tokens, and the books of iterations. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { client, dataOf } from "./client";
import type { RolloutFate } from "./types";

export interface GroupsFilter {
  iteration?: number;
  step?: number;
  q?: string;
  fate?: RolloutFate;
  reason?: string;
  truncated?: boolean;
  reward_min?: number;
  reward_max?: number;
}

const PAGE_SIZE = 50;

/** Groups with rollouts that match, the newest iteration first. A page may be empty and yet not be the last. */
export function groupsOptions(runId: string, filter: GroupsFilter) {
  return infiniteQueryOptions({
    queryKey: ["rollouts", runId, filter],
    initialPageParam: null as string | null,
    queryFn: async ({ pageParam, signal }) =>
      dataOf(
        await client.GET("/api/v1/runs/{run_id}/rollouts", {
          params: {
            path: { run_id: runId },
            query: { limit: PAGE_SIZE, ...filter, ...(pageParam !== null && { cursor: pageParam }) },
          },
          signal,
        }),
      ),
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: keepPreviousData,
  });
}

/** The newest group that is recorded, to know the newest iteration, and how much is recorded at all. */
export function newestGroupOptions(runId: string) {
  return queryOptions({
    queryKey: ["rollouts", runId, "newest"],
    queryFn: async ({ signal }) =>
      dataOf(
        await client.GET("/api/v1/runs/{run_id}/rollouts", {
          params: { path: { run_id: runId }, query: { limit: 1 } },
          signal,
        }),
      ),
  });
}

export function rolloutOptions(runId: string, rolloutId: string) {
  return queryOptions({
    queryKey: ["rollout", runId, rolloutId],
    queryFn: async ({ signal }) =>
      dataOf(
        await client.GET("/api/v1/runs/{run_id}/rollouts/{rollout_id}", {
          params: { path: { run_id: runId, rollout_id: rolloutId } },
          signal,
        }),
      ),
    // The page keeps the old text until the new one is there.
    placeholderData: keepPreviousData,
  });
}

/** The books of one iteration; null: it is not recorded. */
export function booksOptions(runId: string, iteration: number) {
  return queryOptions({
    queryKey: ["iterations", runId, iteration],
    queryFn: async ({ signal }) => {
      const page = dataOf(
        await client.GET("/api/v1/runs/{run_id}/iterations", {
          params: { path: { run_id: runId }, query: { from: iteration, limit: 1 } },
          signal,
        }),
      );
      return page.items.find((books) => books.iteration === iteration) ?? null;
    },
  });
}
