import { expect, test } from "vitest";
import { zoomed } from "./zoom";

const ALL = { from: 0, to: 100 };

test("zooming in keeps what is under the cursor under it", () => {
  expect(zoomed(ALL, ALL, 25, 0.5)).toEqual({ from: 12.5, to: 62.5 });
  expect(zoomed(ALL, ALL, null, 0.5)).toEqual({ from: 25, to: 75 });
});

test("zooming out ends at all there is", () => {
  expect(zoomed({ from: 25, to: 75 }, ALL, null, 2)).toBeNull();
  expect(zoomed({ from: 0, to: 10 }, ALL, 0, 2)).toEqual({ from: 0, to: 20 });
});
