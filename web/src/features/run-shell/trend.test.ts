import { expect, test } from "vitest";
import { trendOf } from "./trend";

test("the ends are compared, each as a mean", () => {
  const trend = trendOf([0, 2, ...Array.from({ length: 6 }, () => 100), 3, 5]);
  expect(trend).toEqual({ delta: 3, numSteps: 10 });
});

test("a few values are no trend", () => {
  expect(trendOf([1, 2, 3])).toBeNull();
});
