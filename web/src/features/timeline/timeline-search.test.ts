import { expect, test } from "vitest";
import { parseTimelineSearch } from "./timeline-search";

test("one step alone is not written, and many are bounded", () => {
  expect(parseTimelineSearch({ step: 3, steps: 1 })).toEqual({ step: 3 });
  expect(parseTimelineSearch({ steps: 5 })).toEqual({ steps: 5 });
  expect(parseTimelineSearch({ steps: 5000 })).toEqual({ steps: 100 });
});

test("half a view is none", () => {
  expect(parseTimelineSearch({ from: 1, to: 2.5 })).toEqual({ from: 1, to: 2.5 });
  expect(parseTimelineSearch({ from: 1 })).toEqual({});
  expect(parseTimelineSearch({ from: 2, to: 1 })).toEqual({});
});

test("kinds that are folded are texts, and none is different from the default", () => {
  expect(parseTimelineSearch({ folded: ["rank", 3] })).toEqual({ folded: ["rank"] });
  expect(parseTimelineSearch({ folded: [] })).toEqual({ folded: [] });
});
