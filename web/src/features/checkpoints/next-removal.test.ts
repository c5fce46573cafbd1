import { expect, test } from "vitest";
import type { Checkpoint } from "@/api/types";
import { nextRemovals } from "./next-removal";

function checkpoints(...steps: number[]): Checkpoint[] {
  return steps.map((step) => ({ step, removed: false, superseded: false }) as Checkpoint);
}

test("the next checkpoint pushes out what is then beyond the newest", () => {
  expect(nextRemovals(checkpoints(60, 40), { keep_last: 2 })).toEqual([40]);
  expect(nextRemovals(checkpoints(60, 40), { keep_last: 3 })).toEqual([]);
  expect(nextRemovals(checkpoints(60), { keep_last: 1 })).toEqual([60]);
  expect(nextRemovals([], { keep_last: 2 })).toEqual([]);
});

test("multiples stay for good and do not take the place of the newest", () => {
  expect(nextRemovals(checkpoints(60, 50, 40), { keep_last: 2, keep_every: 50 })).toEqual([40]);
  expect(nextRemovals(checkpoints(100, 50), { keep_last: 2, keep_every: 50 })).toEqual([]);
});

test("removed and superseded ones do not count", () => {
  const gone = { step: 20, removed: true, superseded: false } as Checkpoint;
  const old = { step: 30, removed: false, superseded: true } as Checkpoint;
  expect(nextRemovals([...checkpoints(60, 40), gone, old], { keep_last: 2 })).toEqual([40]);
});
