/** Steps of a run, and the schedule of one. What is recorded of a step never changes. */
import { queryOptions } from "@tanstack/react-query";
import { client, dataOf } from "./client";

/** A page of steps from this one on, without their schedules. */
export function stepsOptions(runId: string, from: number, limit: number) {
  return queryOptions({
    queryKey: ["steps", runId, from, limit],
    queryFn: async ({ signal }) =>
      dataOf(
        await client.GET("/api/v1/runs/{run_id}/steps", {
          params: { path: { run_id: runId }, query: { from, limit } },
          signal,
        }),
      ),
  });
}

/** The first step of reinforcement learning; null while there is none. Its number never changes once it is there. */
export function firstRlStepOptions(runId: string) {
  return queryOptions({
    queryKey: ["steps", runId, "first rl"],
    queryFn: async ({ signal }) => {
      const page = dataOf(
        await client.GET("/api/v1/runs/{run_id}/steps", {
          params: { path: { run_id: runId }, query: { phase: "rl", limit: 1 } },
          signal,
        }),
      );
      return page.items[0]?.step ?? null;
    },
  });
}

export function stepOptions(runId: string, step: number) {
  return queryOptions({
    queryKey: ["step", runId, step],
    queryFn: async ({ signal }) =>
      dataOf(
        await client.GET("/api/v1/runs/{run_id}/steps/{step}", {
          params: { path: { run_id: runId, step } },
          signal,
        }),
      ),
    placeholderData: (old) => old,
  });
}

export function scheduleOptions(runId: string, step: number) {
  return queryOptions({
    queryKey: ["schedule", runId, step],
    queryFn: async ({ signal }) =>
      dataOf(
        await client.GET("/api/v1/runs/{run_id}/steps/{step}/schedule", {
          params: { path: { run_id: runId, step } },
          signal,
        }),
      ),
    // The page keeps the old picture until the new one is there.
    placeholderData: (old) => old,
  });
}
