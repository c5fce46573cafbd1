import { expect, test } from "vitest";
import { parseRunsSearch } from "./runs-search";
import { countAll, countOf, STATE_GROUPS } from "./state-groups";

test("what the URL says badly falls away", () => {
  expect(parseRunsSearch({ q: "gcd", state: "failed" })).toEqual({ q: "gcd", state: "failed" });
  expect(parseRunsSearch({ q: 17, state: "on fire", other: 1 })).toEqual({ q: "17" });
  expect(parseRunsSearch({ q: "" })).toEqual({});
});

test("no state is in two groups, and counts add up", () => {
  const states = STATE_GROUPS.flatMap((group) => group.states);
  expect(new Set(states).size).toBe(states.length);
  expect(countOf({ queued: 2, starting: 1, failed: 4 }, ["queued", "starting"])).toBe(3);
  expect(countAll({ queued: 2, failed: 4 })).toBe(6);
});

test("what no name and no list could be is cut, by whole characters", () => {
  expect(parseRunsSearch({ q: "🐌".repeat(300) }).q).toBe("🐌".repeat(200));
  expect(parseRunsSearch({ tags: Array.from({ length: 30 }, (_, i) => `tag${i}`) }).tags).toHaveLength(20);
});
