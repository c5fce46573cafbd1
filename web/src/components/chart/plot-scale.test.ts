import { expect, test } from "vitest";
import { plotEnds } from "./plot-scale";
import { logAxis, rowAxis } from "./ticks";

test("an axis of its own fills the plot", () => {
  expect(plotEnds({ min: 2, max: 8, step: 2, ticks: [2, 4, 6, 8] }, false)).toEqual({ min: 2, max: 8 });
});

test("two axes share a grid of seven rows: the lower four and the upper four", () => {
  const batch = plotEnds(rowAxis(0, 500, 4, true), false, { rows: 7, from: 0, to: 4 });
  expect(batch).toEqual({ min: 0, max: 875 });
  const loss = plotEnds(rowAxis(0, 0.08, 4), false, { rows: 7, from: 3, to: 7 });
  expect(loss.min).toBeCloseTo(-0.06);
  expect(loss.max).toBeCloseTo(0.08);
});

test("on a logarithmic axis rows are factors", () => {
  const { min, max } = plotEnds(logAxis(0.01, 100), true, { rows: 7, from: 3, to: 7 });
  expect(max).toBeCloseTo(100);
  expect(min).toBeCloseTo(1e-5);
});
