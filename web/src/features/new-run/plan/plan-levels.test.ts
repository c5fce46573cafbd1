import { expect, test } from "vitest";
import type { PlannedStep } from "@/api/types";
import { planLevels } from "./plan-levels";

function step(index: number, size: number, idle: number | null = 0.1): PlannedStep {
  return {
    step: index,
    iteration: index,
    num_rollouts: size,
    global_batch_size: size,
    lr: 1e-3,
    lr_position_before: 0,
    lr_position_after: 0,
    geometry:
      idle === null
        ? null
        : {
            num_tokens: 100,
            num_microbatches: size / 8,
            real_micro_batches: [],
            num_dummies: 1,
            num_over_cap: 0,
            max_micro_batch_tokens: 10,
            predicted_idle_frac: idle,
            idle_bound_frac: 0,
          },
  };
}

test("steps of one size are a row", () => {
  const levels = planLevels([step(0, 64), step(1, 64, 0.3), step(2, 128), step(3, 128, null)]);
  expect(levels.map(({ first, last, size }) => [first, last, size.least])).toEqual([
    [0, 1, 64],
    [2, 3, 128],
  ]);
  expect(levels[0]?.idle).toBeCloseTo(0.2);
  expect(levels[1]?.microBatches).toEqual({ least: 16, most: 16 });
});

test("sizes that move all the time are told by parts of the run", () => {
  const levels = planLevels(Array.from({ length: 200 }, (_, i) => step(i, 8 * (1 + (i % 7)))));
  expect(levels).toHaveLength(10);
  expect(levels[0]).toMatchObject({ first: 0, last: 19, size: { least: 8, most: 56 } });
});

test("a row of which no step was scheduled is left out", () => {
  expect(planLevels([step(0, 8, null), step(1, 16)]).map(({ first }) => first)).toEqual([1]);
  expect(planLevels([])).toEqual([]);
});
