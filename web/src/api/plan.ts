/** What a run would be, before it is submitted. */
import { queryOptions } from "@tanstack/react-query";
import { client, dataOf } from "./client";
import type { FieldProblem } from "./problem";
import type { Lengths } from "./types";

/** `spec` as it was written; the server checks it, and tells what is wrong with half a spec as an answer. `lengths`
 * null: assumed from what the spec allows. `keptFrac`: the share of the rollouts that the filter leaves. */
export function planOptions(spec: unknown, lengths: Lengths | null, keptFrac: number) {
  return queryOptions({
    queryKey: ["plan", spec, lengths, keptFrac],
    queryFn: async ({ signal }) => {
      const asked = performance.now();
      const body = { request: { spec, lengths, kept_frac: keptFrac, max_scheduled_steps: 64 } };
      const { plan, problems } = dataOf(await client.POST("/api/v1/plan:draft", { body, signal }));
      const fields = problems.map(
        ({ pointer, parameter, detail }): FieldProblem => ({ pointer: pointer ?? parameter ?? "", detail }),
      );
      return { plan, fields, tookMs: performance.now() - asked };
    },
    // The old plan stays, fainter, until the new one is there.
    placeholderData: (old) => old,
    staleTime: Number.POSITIVE_INFINITY,
  });
}
