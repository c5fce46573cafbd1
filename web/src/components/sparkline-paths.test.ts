import { expect, test } from "vitest";
import { sparklinePaths } from "./sparkline-paths";

test("each value holds until the next one, from 0 up to the maximum", () => {
  expect(sparklinePaths([2, 4, 0, 4]).line).toBe("M0 53.7V53.7H250V7.4H500V100H750V7.4H1000");
});

test("the area closes on the ground", () => {
  expect(sparklinePaths([1]).area).toBe("M0 7.4V7.4H1000V100H0Z");
});

test("nothing and zeros need no division", () => {
  expect(sparklinePaths([])).toEqual({ line: "", area: "" });
  expect(sparklinePaths([0, 0]).line).toBe("M0 100V100H500V100H1000");
});
