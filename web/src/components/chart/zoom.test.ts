import { expect, test } from "vitest";
import { held, panned, zoomed } from "./zoom";

const ALL = { from: 0, to: 100 };

test("zooming in keeps what is under the cursor under it", () => {
  expect(zoomed(ALL, ALL, 25, 0.5)).toEqual({ from: 12.5, to: 62.5 });
  expect(zoomed(ALL, ALL, null, 0.5)).toEqual({ from: 25, to: 75 });
});

test("zooming out ends at all there is", () => {
  expect(zoomed({ from: 25, to: 75 }, ALL, null, 2)).toBeNull();
  expect(zoomed({ from: 0, to: 10 }, ALL, 0, 2)).toEqual({ from: 0, to: 20 });
});

test("nothing is made narrower than can be told apart, and what already is stays", () => {
  expect(zoomed({ from: 10, to: 20 }, ALL, null, 0.1, 4)).toEqual({ from: 13, to: 17 });
  expect(zoomed({ from: 10, to: 12 }, ALL, null, 0.5, 4)).toEqual({ from: 10, to: 12 });
});

test("moving stops at both ends, and keeps the width", () => {
  expect(panned({ from: 20, to: 40 }, ALL, 15)).toEqual({ from: 35, to: 55 });
  expect(panned({ from: 20, to: 40 }, ALL, 500)).toEqual({ from: 80, to: 100 });
  expect(panned({ from: 20, to: 40 }, ALL, -500)).toEqual({ from: 0, to: 20 });
});

test("a range that reaches beyond an end is not thrown back by moving on", () => {
  expect(panned({ from: 80, to: 120 }, ALL, 5)).toEqual({ from: 80, to: 120 });
  expect(panned({ from: 80, to: 120 }, ALL, -5)).toEqual({ from: 75, to: 115 });
  expect(panned({ from: -20, to: 20 }, ALL, -5)).toEqual({ from: -20, to: 20 });
});

test("what one finger holds stays under it", () => {
  expect(held({ from: 40, to: 60 }, ALL, [0.5], [0.25])).toEqual({ from: 45, to: 65 });
});

test("two fingers stretch what is between them", () => {
  expect(held({ from: 40, to: 60 }, ALL, [0.25, 0.75], [0, 1])).toEqual({ from: 45, to: 55 });
  expect(held({ from: 40, to: 60 }, ALL, [0, 1], [0.25, 0.75])).toEqual({ from: 30, to: 70 });
  expect(held({ from: 0, to: 100 }, ALL, [0, 1], [0.4, 0.6])).toBeNull();
});

test("fingers that cross do not turn the axis round", () => {
  const range = held({ from: 40, to: 60 }, { from: 0, to: 1e6 }, [0.4, 0.6], [0.6, 0.4]);
  expect(range && range.to > range.from).toBe(true);
});
