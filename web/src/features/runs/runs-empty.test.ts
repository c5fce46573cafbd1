import { expect, test } from "vitest";
import { filterSentence } from "./runs-empty";

test("the filter is told in a sentence", () => {
  expect(filterSentence({ state: "failed", q: "gcd" })).toBe("State is failed and the name contains “gcd”.");
  expect(filterSentence({ q: "gcd" })).toBe("The name contains “gcd”.");
  expect(filterSentence({ state: "waiting" })).toBe("State is waiting.");
});
