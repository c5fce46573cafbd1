import { expect, test } from "vitest";
import { gapOf, hitTokens, pushOf, restOf, shadeChoices, shadesOf, type TokenColumns } from "./token-shades";

const TOKENS: TokenColumns = {
  pieces: ["a", "b", "c", "d"],
  log_probs: [-0.01, -0.7, -2.5, -5],
  trainer_log_probs: [-0.01, -0.75, -2.2, -6],
};

test("the less likely, the darker; the least likely are underlined as well", () => {
  expect(shadesOf(TOKENS, "log_prob", null)).toEqual([
    { token: null, isFar: false },
    { token: "wash-1", isFar: false },
    { token: "wash-3", isFar: false },
    { token: "wash-4", isFar: true },
  ]);
});

test("trainer and engine are told apart on both sides of the centre", () => {
  expect(gapOf(TOKENS, 2)).toBeCloseTo(0.3);
  expect(shadesOf(TOKENS, "gap", null).map(({ token }) => token)).toEqual([null, "div-2", "div-5", "div-0"]);
});

test("a token that was sure is not pushed, whatever the advantage", () => {
  expect(pushOf(TOKENS, 0, 2)).toBeCloseTo(0.02, 2);
  expect(pushOf(TOKENS, 3, -1)).toBeCloseTo(-0.993, 3);
  expect(shadesOf(TOKENS, "advantage", -1).map(({ token }) => token)).toEqual([
    null,
    "div-1",
    "div-0",
    "div-0",
  ]);
});

test("only shades are offered whose numbers are there", () => {
  expect(shadeChoices(TOKENS, null)).toEqual(["log_prob", "gap", "none"]);
  expect(shadeChoices({ ...TOKENS, trainer_log_probs: [] }, 1)).toEqual(["log_prob", "advantage", "none"]);
  expect(shadeChoices({ pieces: [], log_probs: [], trainer_log_probs: [] }, 1)).toEqual(["none"]);
});

test("what follows the recorded tokens is the rest", () => {
  expect(restOf("abcdef", ["ab", "c"])).toBe("def");
  expect(restOf("abc", ["ab", "c", "</s>"])).toBe("");
});

test("what is looked for is found across tokens", () => {
  const pieces = ["Let", " me", "", " see", ": 5", "4"];
  expect([...hitTokens(pieces, "ME SEE")]).toEqual([1, 2, 3]);
  expect([...hitTokens(pieces, "54")]).toEqual([4, 5]);
  expect([...hitTokens(pieces, "e")]).toEqual([0, 1, 3]);
  expect([...hitTokens(pieces, "")]).toEqual([]);
});
