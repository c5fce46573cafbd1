/** What a run would be, before it is submitted. */
import { queryOptions } from "@tanstack/react-query";
import { client, dataOf } from "./client";
import type { Lengths, RunSpec } from "./types";

/** `spec` as it was written; the server checks it. `lengths` null: assumed from what the spec allows. */
export function planOptions(spec: unknown, lengths: Lengths | null) {
  return queryOptions({
    queryKey: ["plan", spec, lengths],
    queryFn: async ({ signal }) => {
      const asked = performance.now();
      const body = { spec: spec as RunSpec, lengths, kept_frac: 1, max_scheduled_steps: 64 };
      const plan = dataOf(await client.POST("/api/v1/plan", { body, signal }));
      return { plan, tookMs: performance.now() - asked };
    },
    // The old plan stays, fainter, until the new one is there.
    placeholderData: (old) => old,
    staleTime: Number.POSITIVE_INFINITY,
  });
}
