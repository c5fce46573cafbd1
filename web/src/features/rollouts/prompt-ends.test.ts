import { expect, test } from "vitest";
import { promptEnd, sharedBeginning } from "./prompt-ends";

test("prompts lose the words that all of them begin with", () => {
  const prompts = ["Spell this word backward: dance", null, "Spell this word backward: desserts"];
  const shared = sharedBeginning(prompts);
  expect(promptEnd(prompts[0] ?? "", shared)).toBe("… dance");
  expect(promptEnd(prompts[2] ?? "", shared)).toBe("… desserts");
});

test.each<[string, (string | null)[]]>([
  ["they share little", ["prompt of g1.0", "prompt of g1.1"]],
  ["there is one, however often", ["Spell this word backward: a", "Spell this word backward: a"]],
  ["one is how the others begin", ["Spell this word backward: ", "Spell this word backward: a"]],
  ["none is kept", [null, null]],
])("prompts are whole where %s", (_, prompts) => {
  expect(sharedBeginning(prompts)).toBe(0);
});
