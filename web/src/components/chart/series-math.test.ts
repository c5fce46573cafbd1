import { expect, test } from "vitest";
import { extent, joinColumns, lonePoints, positiveOnly, smooth, union } from "./series-math";

test("an average of a constant is that constant from the first point on", () => {
  expect(smooth({ step: [0, 1, 2], value: [3, 3, 3] }, 0.9)).toEqual([3, 3, 3]);
});

test("it weighs by distance in steps, so that buckets are smoothed like points", () => {
  const [, later] = smooth({ step: [0, 1000], value: [0, 1] }, 0.9);
  expect(later).toBeCloseTo(1);
  const [, near] = smooth({ step: [0, 1], value: [0, 1] }, 0.9);
  expect(near).toBeCloseTo(0.1);
});

test("a gap stays a gap", () => {
  expect(smooth({ step: [0, 1, 2], value: [3, null, 3] }, 0.5)).toEqual([3, null, 3]);
});

test("the extent looks at the range only, and at positive values only where it must", () => {
  const x = [0, 1, 2, 3];
  expect(extent(x, [[9, -1, 4, 100]], 1, 2)).toEqual({ low: -1, high: 4 });
  expect(extent(x, [[9, -1, 4, 100]], 1, 2, true)).toEqual({ low: 4, high: 4 });
  expect(extent(x, [[null, null, null, null]], 0, 3)).toEqual({ low: null, high: null });
  expect(union({ low: null, high: null }, { low: 1, high: 2 })).toEqual({ low: 1, high: 2 });
  expect(union({ low: 0, high: 5 }, { low: 1, high: 9 })).toEqual({ low: 0, high: 9 });
});

test("what has no logarithm is hidden and counted", () => {
  expect(positiveOnly([1, 0, -2, null])).toEqual({ values: [1, null, null, null], hidden: 2 });
});

test("columns are joined: a missing x is no gap", () => {
  const joined = joinColumns([
    { x: [0, 1, 3], values: [10, null, 30] },
    { x: [1, 2], values: [1, 2] },
  ]);
  expect(joined.x).toEqual([0, 1, 2, 3]);
  expect(joined.columns).toEqual([
    [10, null, undefined, 30],
    [undefined, 1, 2, undefined],
  ]);
});

test("a point between gaps or ends is alone", () => {
  expect(lonePoints([1, null, 2, 3, null, 4])).toEqual([0, 5]);
  expect(lonePoints([1, undefined, 2])).toEqual([]);
  expect(lonePoints([7])).toEqual([0]);
});
