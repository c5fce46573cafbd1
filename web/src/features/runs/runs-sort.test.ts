import { expect, test } from "vitest";
import { nextSort, parseSort, sortText } from "./runs-sort";

test("clicks go round: greatest, least, as it was", () => {
  const greatest = nextSort(null, "reward");
  const least = nextSort(greatest, "reward");
  expect([greatest, least, nextSort(least, "reward")]).toEqual([
    { key: "reward", isDescending: true },
    { key: "reward", isDescending: false },
    null,
  ]);
  expect(nextSort(greatest, "name")).toEqual({ key: "name", isDescending: false });
});

test("what is no column falls away", () => {
  expect(parseSort("-reward")).toEqual({ key: "reward", isDescending: true });
  expect(sortText({ key: "reward", isDescending: true })).toBe("-reward");
  expect([parseSort("colour"), parseSort(3)]).toEqual([null, null]);
});
