/** What can be done to a run. Each answer goes into the cache at once; the stream may have told more meanwhile. */
import { type QueryClient, useMutation, useQueryClient } from "@tanstack/react-query";
import { askAgain } from "./ask-again";
import { client, dataOf } from "./client";
import { patchRun } from "./run-cache";
import type { CancelMode, Run } from "./types";

export type RunWish =
  | { kind: "pause" }
  | { kind: "resume" }
  | { kind: "cancel"; mode: CancelMode }
  /** Lets a run that has ended go on from its newest checkpoint, or from the one before this step. */
  | { kind: "retry"; fromStep?: number }
  /** Leaves a run out of lists, or takes it back. */
  | { kind: "archive"; isArchived: boolean };

export interface AskedOfRun {
  runId: string;
  wish: RunWish;
}

/** Asks for one thing of one run; any number may be under way. */
export function useRunWish() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: ({ runId, wish }: AskedOfRun) => ask(runId, wish),
    onSuccess: (run) => tellRun(queryClient, run),
  });
}

/** Deletes runs that have ended, all that can be; they can be restored for a short time. Returns those that went. */
export function useDeleteRuns() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: async (runIds: readonly string[]) => {
      const deleted: string[] = [];
      for (const id of runIds) {
        await client.DELETE("/api/v1/runs/{run_id}", { params: { path: { run_id: id } } });
        deleted.push(id);
      }
      return deleted;
    },
    onSettled: () => askAgain(queryClient, { queryKey: ["runs"] }),
  });
}

export function useRestoreRuns() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: async (runIds: readonly string[]) => {
      for (const id of runIds) {
        const params = { path: { run_id: id } };
        await client.POST("/api/v1/runs/{run_id}/restore", { params });
      }
    },
    onSettled: () => {
      askAgain(queryClient, { queryKey: ["runs"] });
      askAgain(queryClient, { queryKey: ["run"] });
    },
  });
}

async function ask(runId: string, wish: RunWish): Promise<Run> {
  const params = { path: { run_id: runId } };
  switch (wish.kind) {
    case "pause":
      return dataOf(await client.POST("/api/v1/runs/{run_id}/pause", { params }));
    case "resume":
      return dataOf(await client.POST("/api/v1/runs/{run_id}/resume", { params }));
    case "cancel":
      return dataOf(await client.POST("/api/v1/runs/{run_id}/cancel", { params, body: { mode: wish.mode } }));
    case "retry":
      return dataOf(
        await client.POST("/api/v1/runs/{run_id}/retry", {
          params,
          body: { from_step: wish.fromStep ?? null },
        }),
      );
    case "archive":
      return dataOf(
        await client.PATCH("/api/v1/runs/{run_id}", { params, body: { archived: wish.isArchived } }),
      );
  }
}

function tellRun(queryClient: QueryClient, run: Run): void {
  patchRun(queryClient, run);
  askAgain(queryClient, { queryKey: ["run", run.id] });
  askAgain(queryClient, { queryKey: ["runs"] });
}
