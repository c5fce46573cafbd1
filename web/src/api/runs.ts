/** Runs: the list, one run, and a new one. */
import { infiniteQueryOptions, queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { askAgain } from "./ask-again";
import { client, dataOf } from "./client";
import type { RunSortKey, RunSpec, RunState } from "./types";

/** No name is longer, and no list is asked for more. */
export const MAX_NAME_CHARACTERS = 200;

export interface RunsFilter {
  text: string;
  /** Empty: any state. */
  states: readonly RunState[];
  /** `key=value`, or `key` for any value; all must match. */
  tags?: readonly string[];
  /** Also those that are archived. */
  archived?: boolean;
  /** Absent: the newest first. */
  sort?: { key: RunSortKey; isDescending: boolean };
}

/** The first page is what is seen; whoever scrolls on wants many. */
const FIRST_PAGE_SIZE = 100;
const PAGE_SIZE = 500;

export function runsOptions(filter: RunsFilter) {
  return infiniteQueryOptions({
    queryKey: ["runs", filter],
    initialPageParam: null as string | null,
    queryFn: async ({ pageParam, signal }) =>
      dataOf(
        await client.GET("/api/v1/runs", {
          params: {
            query: {
              limit: pageParam === null ? FIRST_PAGE_SIZE : PAGE_SIZE,
              ...(filter.text !== "" && { text: filter.text }),
              ...(filter.states.length > 0 && { state: [...filter.states] }),
              ...(filter.archived && { archived: true }),
              ...(filter.sort && { sort: filter.sort.key, order: filter.sort.isDescending ? "desc" : "asc" }),
              ...(filter.tags && filter.tags.length > 0 && { tag: [...filter.tags] }),
              ...(pageParam !== null && { cursor: pageParam }),
            },
          },
          signal,
        }),
      ),
    getNextPageParam: (page) => page.next_cursor,
  });
}

export function runOptions(runId: string) {
  return queryOptions({
    queryKey: ["run", runId],
    queryFn: async ({ signal }) =>
      dataOf(await client.GET("/api/v1/runs/{run_id}", { params: { path: { run_id: runId } }, signal })),
  });
}

/** What a clone of a run may be called: names that runs have by now are passed over. Asked anew by whoever begins one. */
export function cloneNameOptions(runId: string) {
  return queryOptions({
    queryKey: ["clone-name", runId],
    queryFn: async ({ signal }) =>
      dataOf(
        await client.GET("/api/v1/runs/{run_id}/clone-name", { params: { path: { run_id: runId } }, signal }),
      ).name,
    gcTime: 0,
  });
}

/** Submits a spec as it was written; the server checks it. */
export function useCreateRun() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: async (spec: unknown) =>
      dataOf(await client.POST("/api/v1/runs", { body: spec as NonNullable<RunSpec> })),
    onSuccess: (run) => {
      // Shown at once, and asked again by the page that shows it: the run may have begun by now.
      queryClient.setQueryData(["run", run.id], run, { updatedAt: 1 });
      askAgain(queryClient, { queryKey: ["runs"] });
    },
  });
}
