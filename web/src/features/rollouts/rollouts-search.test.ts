import { expect, test } from "vitest";
import { parseRolloutsSearch } from "./rollouts-search";

test("one scope at most is kept, the narrowest", () => {
  expect(parseRolloutsSearch({ step: 3, iteration: 2, all: true })).toEqual({ step: 3 });
  expect(parseRolloutsSearch({ iteration: 2, all: true })).toEqual({ iteration: 2 });
  expect(parseRolloutsSearch({ iteration: -1, all: true })).toEqual({ all: true });
});

test("what looks like a number is a text where a text is meant", () => {
  expect(parseRolloutsSearch({ q: 54, rollout: 17 })).toEqual({ q: "54", rollout: "17" });
});

test("bad values fall away and defaults are not written", () => {
  const raw = { fate: "eaten", reward_min: Number.NaN, truncated: "yes", shade: "log_prob", q: "" };
  expect(parseRolloutsSearch(raw)).toEqual({});
});
