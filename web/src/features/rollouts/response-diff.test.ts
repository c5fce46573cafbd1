import { expect, test } from "vitest";
import { type DiffPart, diffResponses } from "./response-diff";

const joined = (parts: readonly DiffPart[]) => parts.map(({ text }) => text).join("");

test("both texts stay whole, and what differs is told", () => {
  const diff = diffResponses("the sum is 54.", "the sum is 56, I think.");
  expect(joined(diff?.first ?? [])).toBe("the sum is 54.");
  expect(joined(diff?.second ?? [])).toBe("the sum is 56, I think.");
  expect(diff?.first.filter(({ isShared }) => !isShared).map(({ text }) => text)).toEqual(["54"]);
  expect(diff?.sharedFrac).toBeGreaterThan(0.6);
});

test("answers of one word are compared by character", () => {
  const diff = diffResponses("msileelp", "msileep");
  expect(diff?.comparedBy).toBe("character");
  expect(diff?.first.filter(({ isShared }) => !isShared).map(({ text }) => text)).toEqual(["l"]);
  expect(diff?.sharedFrac).toBeGreaterThan(0.9);
  expect(diffResponses("one word", "two")?.comparedBy).toBe("word");
});

test("equal and empty texts share all", () => {
  expect(diffResponses("", "")?.sharedFrac).toBe(1);
  expect(diffResponses("same", "same")?.sharedFrac).toBe(1);
});

test("long texts that share nothing do not hold up the page", () => {
  const words = (seed: number) =>
    Array.from({ length: 60_000 }, (_, i) => ((i * 7919 * seed) % 9973).toString(36)).join(" ");
  const began = performance.now();
  const diff = diffResponses(words(3), words(5));
  expect(performance.now() - began).toBeLessThan(3000);
  if (diff) expect(joined(diff.first)).toBe(words(3));
});
