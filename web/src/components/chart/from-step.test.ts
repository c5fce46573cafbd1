import { expect, test } from "vitest";
import { buckets, series } from "./factories";
import { fromStep } from "./from-step";

test("steps before the first one are left out, and the axis goes on counting", () => {
  const nan = { x: 10, step: 1, value: "NaN" as const };
  const whole = series([9, 8, 0.5, 0.4], { x: [0, 20, 30, 40], total: 5, non_finite: [nan] });
  const [rest] = fromStep([whole], 2);
  expect(rest).toMatchObject({ x: [30, 40], step: [2, 3], last_step: [2, 3], value: [0.5, 0.4] });
  expect([rest?.total, rest?.non_finite]).toEqual([2, []]);
});

test("a bucket with an earlier step in it is left out, and its points are not counted", () => {
  const rows = [9, 5, 1].map((mean) => ({ mean, min: mean - 1, max: mean + 1 }));
  const [rest] = fromStep([buckets(rows)], 3);
  expect(rest).toMatchObject({ step: [4], last_step: [5], value: [1], min: [0], max: [2], total: 2 });
});

test("an attempt of which nothing is left is not there, and from the first step on all of it is", () => {
  const superseded = series([9, 9], { superseded: true });
  const current = series([1, 1, 1], { first: 2, attempt: 2 });
  expect(fromStep([superseded, current], 2)).toMatchObject([{ attempt: 2, step: [2, 3, 4] }]);
  expect(fromStep([superseded, current], 0)).toEqual([superseded, current]);
  expect(fromStep([superseded, current], Number.POSITIVE_INFINITY)).toEqual([]);
});
