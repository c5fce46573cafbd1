import { expect, test } from "vitest";
import { countTicks, linearAxis, logAxis, niceStep, rowAxis, secondsTicks } from "./ticks";

test("steps are 1, 2, 2.5 or 5 times a power of ten", () => {
  expect([0.3, 0.21, 0.2, 3, 7, 100, 120, 230].map((least) => niceStep(least))).toEqual([
    0.5, 0.25, 0.2, 5, 10, 100, 200, 250,
  ]);
});

test("an axis holds its values, begins and ends at a tick, and has three to five of them", () => {
  for (const [low, high] of [
    [0, 1],
    [0.31, 0.69],
    [-3, 17],
    [1114, 1117.5],
    [-0.002, 0.0018],
    [2e-7, 9.9e-7],
    [0, 1e9],
    [5, 5],
    [0, 0],
    [-4, -4],
  ] as const) {
    const { min, max, ticks } = linearAxis(low, high);
    expect(min, `${low} to ${high}`).toBeLessThanOrEqual(low);
    expect(max, `${low} to ${high}`).toBeGreaterThanOrEqual(high);
    expect(ticks[0]).toBe(min);
    expect(ticks.at(-1)).toBe(max);
    expect(ticks.length).toBeGreaterThanOrEqual(3);
    expect(ticks.length).toBeLessThanOrEqual(5);
  }
});

test("an axis has a height for values that differ in their last digit, and for all that a double holds", () => {
  for (const [low, high] of [
    [0.3, 0.1 + 0.2],
    [1e13, 1e13 + 1],
    [-0.1 - 0.2, -0.3],
    [0, 5e-324],
    [5e-324, 1e-323],
    [1e308, 1.7e308],
    [-1.7e308, 1.7e308],
  ] as const) {
    const axes = [linearAxis(low, high), rowAxis(low, high, 4), ...(low > 0 ? [logAxis(low, high)] : [])];
    for (const { min, max, ticks } of axes) {
      expect(min, `${low} to ${high}`).toBeLessThan(max);
      expect(Number.isFinite(max - min), `${low} to ${high}`).toBe(true);
      expect(ticks.length).toBeGreaterThanOrEqual(2);
    }
  }
});

test("a range without end, as an address may ask for, has one tick", () => {
  expect(countTicks(-1.7e308, 1.7e308, 8)).toEqual([-1.7e308]);
  expect(secondsTicks(-1.7e308, 1.7e308, 8)).toEqual([-1.7e308]);
});

test("ticks have no binary dust", () => {
  expect(linearAxis(0.1, 0.9).ticks).toEqual([0, 0.25, 0.5, 0.75, 1]);
  expect(linearAxis(0, 1e-6).ticks).toEqual([0, 5e-7, 1e-6]);
});

test("an axis of fixed rows has exactly one tick more than rows", () => {
  for (const [low, high] of [
    [0, 430],
    [0, 4],
    [0.012, 0.078],
    [-0.01, 2.3],
    [7, 7],
  ] as const) {
    const { min, max, ticks } = rowAxis(low, high, 4);
    expect(ticks).toHaveLength(5);
    expect(min).toBeLessThanOrEqual(low);
    expect(max).toBeGreaterThanOrEqual(high);
  }
});

test("rows of counts are whole", () => {
  expect(rowAxis(0, 3, 4, true).ticks).toEqual([0, 1, 2, 3, 4]);
  expect(rowAxis(0, 430, 4, true).ticks).toEqual([0, 125, 250, 375, 500]);
});

test("rows of a loss have labels that the gutter holds", () => {
  expect(rowAxis(0.0128, 0.0621, 4).ticks).toEqual([0, 0.02, 0.04, 0.06, 0.08]);
});

test("a logarithmic axis has decades, or 1, 2 and 5 where there is one decade only", () => {
  expect(logAxis(0.02, 40).ticks).toEqual([0.01, 0.1, 1, 10, 100]);
  expect(logAxis(0.03, 0.08).ticks).toEqual([0.02, 0.05, 0.1]);
  expect(logAxis(1e-9, 1e9).ticks.length).toBeLessThanOrEqual(5);
});

test("ticks of steps are whole and inside", () => {
  expect(countTicks(0, 1284, 4)).toEqual([0, 500, 1000]);
  expect(countTicks(266, 280, 20)).toEqual([
    266, 267, 268, 269, 270, 271, 272, 273, 274, 275, 276, 277, 278, 279, 280,
  ]);
  expect(countTicks(7, 7, 4)).toEqual([7]);
});

test("ticks of time lie at local hours", () => {
  const midnightInBerlin = Date.UTC(2026, 0, 1, 23) / 1000;
  const ticks = secondsTicks(midnightInBerlin - 100, midnightInBerlin + 13 * 3600, 3, 3600);
  expect(ticks).toEqual([midnightInBerlin, midnightInBerlin + 6 * 3600, midnightInBerlin + 12 * 3600]);
});
