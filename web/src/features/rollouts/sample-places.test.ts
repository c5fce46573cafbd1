import { expect, test } from "vitest";
import type { Schedule } from "@/api/types";
import { placesByRollout } from "./sample-places";

test("a rollout of several samples has all their places", () => {
  const schedule = {
    samples: { rollout_id: ["a", "b", "a"], num_tokens: [10, 20, 30] },
    micro_batches: [[[2], []], [[0, 1]]],
  } as unknown as Schedule;
  const places = placesByRollout(schedule);
  expect(places.get("a")).toEqual([
    { sample: 2, rank: 0, microBatch: 0, tokens: 30 },
    { sample: 0, rank: 1, microBatch: 0, tokens: 10 },
  ]);
  expect(places.get("b")).toHaveLength(1);
});
