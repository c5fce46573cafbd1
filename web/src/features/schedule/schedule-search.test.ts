import { expect, test } from "vitest";
import { parseScheduleSearch } from "./schedule-search";

test("a step, a width and a colour are kept; defaults and bad values fall away", () => {
  expect(parseScheduleSearch({ step: 1118, width: "predicted", colour: "reward" })).toEqual({
    step: 1118,
    width: "predicted",
    colour: "reward",
  });
  expect(parseScheduleSearch({ step: -1, width: "measured", colour: "tokens" })).toEqual({});
  expect(parseScheduleSearch({ step: 1.5, width: 3, colour: "mauve" })).toEqual({});
});

test("a sample is one of a step that is named", () => {
  expect(parseScheduleSearch({ step: 3, sample: 7 })).toEqual({ step: 3, sample: 7 });
  expect(parseScheduleSearch({ sample: 7 })).toEqual({});
});

test("where odd steps are looked for is kept once it is chosen", () => {
  expect(parseScheduleSearch({ find: "all" })).toEqual({ find: "all" });
  expect(parseScheduleSearch({ find: "everywhere" })).toEqual({});
});
