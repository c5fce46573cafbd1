/** What happened to a run, oldest first. */
import { queryOptions } from "@tanstack/react-query";
import { client, dataOf } from "./client";
import type { RunEvent } from "./types";

const PAGE_SIZE = 1000;
/** More events than this say no more to a reader. */
const MOST_PAGES = 10;

export function eventsOptions(runId: string) {
  return queryOptions({
    queryKey: ["events", runId],
    queryFn: async ({ signal }): Promise<{ items: RunEvent[]; isWhole: boolean }> => {
      const items: RunEvent[] = [];
      let after = 0;
      for (let page = 0; page < MOST_PAGES; page += 1) {
        const params = { path: { run_id: runId }, query: { after, limit: PAGE_SIZE } };
        const answer = dataOf(await client.GET("/api/v1/runs/{run_id}/events", { params, signal }));
        items.push(...answer.items);
        if (answer.next_after == null) return { items, isWhole: true };
        after = answer.next_after;
      }
      return { items, isWhole: false };
    },
  });
}
