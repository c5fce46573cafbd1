import { expect, test } from "vitest";
import { parseTimelineSearch } from "./timeline-search";

test("a range needs its first step and ends after it", () => {
  expect(parseTimelineSearch({ step: 3, last: 5 })).toEqual({ step: 3, last: 5 });
  expect(parseTimelineSearch({ step: 3, last: 3 })).toEqual({ step: 3 });
  expect(parseTimelineSearch({ last: 5 })).toEqual({});
});

test("half a view is none", () => {
  expect(parseTimelineSearch({ from: 1, to: 2.5 })).toEqual({ from: 1, to: 2.5 });
  expect(parseTimelineSearch({ from: 1 })).toEqual({});
  expect(parseTimelineSearch({ from: 2, to: 1 })).toEqual({});
});
