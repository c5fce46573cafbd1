import { expect, test } from "vitest";
import { growAxis, yAxis } from "./y-range";

const PLAIN = { fromZero: false, log: false };

test("an axis does not move while its values fit", () => {
  const before = yAxis(0.31, 0.62, PLAIN);
  expect(growAxis(before, 0.4, 0.45, PLAIN)).toBe(before);
});

test("it grows to the next tick when a value leaves it, and keeps what it held", () => {
  const before = yAxis(0.31, 0.58, PLAIN);
  const after = growAxis(before, 0.5, 0.85, PLAIN);
  expect(after.max).toBeGreaterThanOrEqual(0.85);
  expect(after.min).toBeLessThanOrEqual(before.min);
  expect(after.ticks).toContain(after.max);
});

test("what must begin at 0 does", () => {
  expect(yAxis(250, 430, { fromZero: true, log: false, rows: 4, integer: true }).ticks).toEqual([
    0, 125, 250, 375, 500,
  ]);
  expect(yAxis(0.02, 0.26, { fromZero: true, log: false }).min).toBe(0);
});

test("without a finite value there is a place holder", () => {
  expect(yAxis(null, null, PLAIN)).toMatchObject({ min: 0, max: 1 });
  expect(yAxis(null, null, { fromZero: false, log: true })).toMatchObject({ min: 1, max: 10 });
  const before = yAxis(3, 9, PLAIN);
  expect(growAxis(before, null, null, PLAIN)).toBe(before);
});

test("ticks of sizes are round in their binary unit", () => {
  const MIB = 1024 ** 2;
  const { ticks } = yAxis(0, 900 * MIB, { fromZero: true, log: false, bytes: true });
  expect(ticks.map((tick) => tick / MIB)).toEqual([0, 250, 500, 750, 1000]);
});
