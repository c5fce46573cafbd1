import { expect, test } from "vitest";
import { scatterScale } from "./scatter-scale";

test("all dots lie inside, also where all lengths are equal", () => {
  for (const tokens of [
    [900, 36_912],
    [7, 7],
    [0, 1],
  ]) {
    const scale = scatterScale(tokens, [0, 0.5]);
    for (const count of tokens) {
      expect(scale.x(count)).toBeGreaterThanOrEqual(0);
      expect(scale.x(count)).toBeLessThanOrEqual(1);
    }
    expect([scale.y(1), scale.y(0)]).toEqual([0, 1]);
  }
});

test("rewards outside of 0 to 1 widen the scale", () => {
  const scale = scatterScale([10, 100], [-2, 3]);
  expect(scale.y(3)).toBeGreaterThanOrEqual(0);
  expect(scale.y(-2)).toBeLessThanOrEqual(1);
});
