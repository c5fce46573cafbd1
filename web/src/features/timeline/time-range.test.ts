import { expect, test } from "vitest";
import { around, windowOf } from "./time-range";

test("a stretch is shown with air around it, inside of what there is", () => {
  const range = around(1, 2, 10);
  expect([range.from, range.to]).toEqual([expect.closeTo(0.9), expect.closeTo(2.1)]);
  expect(around(0, 10, 10)).toEqual({ from: 0, to: 10 });
});

test("a window that lies behind the end shows all", () => {
  expect(windowOf({ from: 12, to: 14 }, 10)).toEqual({ from: 0, to: 10 });
  expect(windowOf({ from: 8, to: 14 }, 10)).toEqual({ from: 8, to: 10 });
  expect(windowOf({}, 10)).toEqual({ from: 0, to: 10 });
});
